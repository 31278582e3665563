/** The package brings no types; these are the parts of its documented interface that we call. */
declare module 'subset-font' {
  export type VariationAxes = Readonly<Record<string, number | { min: number; max: number }>>;
  export default function subsetFont(
    font: Buffer,
    text: string,
    options: {
      targetFormat: 'sfnt' | 'woff2';
      variationAxes: VariationAxes;
      noHinting: boolean;
    },
  ): Promise<Buffer>;
}
