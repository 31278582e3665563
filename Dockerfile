# One image for migrate, api and worker; docker-compose.yml says which file each runs, and how its health is
# checked. tests/proof/image.test.ts starts the same files.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY . .
# They stand in the prerendered pages, so they are settings of the build as well.
ARG PRODUCT_NAME=
ARG CONTACT_EMAIL=
ARG ANALYTICS_URL=
ARG SOCIAL_LINKS=
ARG MODELS_FILE=
RUN PRODUCT_NAME="$PRODUCT_NAME" CONTACT_EMAIL="$CONTACT_EMAIL" ANALYTICS_URL="$ANALYTICS_URL" \
  SOCIAL_LINKS="$SOCIAL_LINKS" MODELS_FILE="$MODELS_FILE" node web/build.ts

FROM node:24.21.0-bookworm-slim
# Threads and memory as services/platform/process/supervise.ts sets them for the processes that it starts.
ENV NODE_ENV=production HOST=0.0.0.0 UV_THREADPOOL_SIZE=16 MALLOC_ARENA_MAX=2 NODE_OPTIONS=--max-semi-space-size=16
WORKDIR /app
COPY package.json package-lock.json LICENSE ./
# No install scripts and no optional packages: the image has its own Node, and no embedded Postgres.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
COPY db db
COPY docs/live.md docs/programs.md docs/
COPY projections projections
COPY services services
# The one optional package that runs here, for this platform.
COPY --from=build /app/node_modules/@img node_modules/@img
COPY --from=build /app/web/dist web/dist
# The operator's own; the pattern lets it be missing.
COPY --from=build /app/models.jso[n] ./
# A new volume takes over the owner of this folder.
RUN install --directory --owner=node --group=node /erasures
USER node
EXPOSE 3000
CMD ["node", "services/api.ts"]
