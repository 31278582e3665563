# Runs once, when the Postgres of docker-compose.yml gets its folder. Roles of their own, so that the
# application cannot write events but through the append function, and an auditor can write nothing.
psql --username postgres --set ON_ERROR_STOP=1 --set owner="$OWNER_PASSWORD" --set app="$APP_PASSWORD" <<'SQL'
create role sevenfold_owner with login createdb password :'owner';
create role sevenfold_app with login password :'app';
grant pg_monitor, pg_signal_backend to sevenfold_owner;
create database sevenfold owner sevenfold_owner;
SQL

if [ -n "$AUDITOR_PASSWORD" ]; then
  psql --username postgres --set ON_ERROR_STOP=1 --set auditor="$AUDITOR_PASSWORD" <<'SQL'
create role sevenfold_auditor with login password :'auditor';
-- An open transaction would hide new events from the app's readers.
alter role sevenfold_auditor set idle_in_transaction_session_timeout = '10min';
SQL
fi
