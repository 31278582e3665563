/**
 * With automatic tax the sandbox adds a tenth, wherever the payer lives: enough to see
 * that prices without tax and amounts with it differ.
 */
export function taxOf(subtotal: number): number {
  return Math.round(subtotal / 10);
}
