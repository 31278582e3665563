/**
 * What keeps people's data out of the log of Postgres; docker-compose.yml has the same. An error names
 * values in its message, its detail and its statement, so only what the server says of itself is logged:
 * the application gets every error of a statement anyway.
 */
export const logSettings = [
  // In this setting "log" ranks above "error": what remains are LOG, FATAL and PANIC.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_parameter_max_length=0',
  'log_parameter_max_length_on_error=0',
] as const;
