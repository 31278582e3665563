# Runs once, when the Postgres of docker-compose.yml gets its folder. Three roles, so that the
# application cannot write events but through the append function.
psql --username postgres --set ON_ERROR_STOP=1 --set owner="$OWNER_PASSWORD" --set app="$APP_PASSWORD" <<'SQL'
create role sevenfold_owner with login createdb password :'owner';
create role sevenfold_app with login password :'app';
grant pg_monitor, pg_signal_backend to sevenfold_owner;
create database sevenfold owner sevenfold_owner;
SQL
