/** The password of every test user: it follows the rules and is not a common one. */
export const testPassword = 'Lantern-Quay-47';
