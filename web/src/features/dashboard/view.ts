import type { User } from '#services/identity/contract/session.ts';

export type DashboardView = NonNullable<User['preferred_dashboard']>;

/**
 * The chosen view, else the one of the rule: elite for the scale tier and for any address. A finished
 * onboarding would be elite, too; it needs an account, and every account has an address.
 */
export function viewOf({
  preferred_dashboard: preferred,
  subscription_tier: tier,
  email,
}: Pick<User, 'preferred_dashboard' | 'subscription_tier' | 'email'>): DashboardView {
  return preferred ?? (tier === 'scale' || email.includes('@') ? 'elite' : 'standard');
}
