-- SHA-256 of the nonce cookie of the browser that last opened the link and was not the one that asked.
-- The user of that browser reads the mailbox, and may ask for an email although another one still works.
alter table auth_link add column opened_by bytea;
