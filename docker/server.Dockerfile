# The server, and every tool of the command `annal`. Built from the top of the repository:
#   docker build -f docker/server.Dockerfile -t annal/server .
# NODE_IMAGE may be pinned by digest. The image declares no volume, so that data is never in an unnamed volume.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
# A registry other than the default, if given. npm reads it from the environment of the build.
ARG NPM_CONFIG_REGISTRY
# The public key of the vendor who issues licenses for the image; see docs/reference/enterprise.md.
ARG ANNAL_VENDOR_KEY
ENV TURBO_TELEMETRY_DISABLED=1 NPM_CONFIG_UPDATE_NOTIFIER=false
WORKDIR /source
COPY . .
# The packages of a server, without LangChain.
RUN npm ci --no-audit --no-fund --loglevel=error \
  && npm run build \
  && node scripts/pack.ts /tarballs wal engine dashboard server client replay cli \
  && mkdir /app \
  && cd /app \
  && npm init --yes --loglevel=error >/dev/null \
  && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error /tarballs/*.tgz \
  && find node_modules -name '*.map' -delete

FROM ${NODE_IMAGE}
COPY --from=build /app/node_modules /app/node_modules
# A running server needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* \
  && ln -s /app/node_modules/annal/dist/annal.js /usr/local/bin/annal \
  && install -d -o node -g node -m 0700 /data
ENV NODE_ENV=production NDD_HOST=0.0.0.0 NDD_SERVER_PORT=8080 NDD_DATA_DIR=/data
USER node
WORKDIR /
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --start-interval=1s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.NDD_SERVER_PORT}/api/v2/health`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["annal"]
CMD ["serve"]
