/** Of everyone who signs up in a test: it satisfies the rules and is on no list of common ones. */
export const testPassword = 'Lantern-Quay-47';
