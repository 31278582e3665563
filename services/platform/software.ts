/** The release, as in `package.json`; a test compares them. */
export const softwareVersion = '0.1.0';
