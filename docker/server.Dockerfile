# The server, and every tool of the command `annal`. Built from the top of the repository:
#   docker build -f docker/server.Dockerfile -t annal/server .
# NODE_IMAGE may be pinned by digest. The image declares no volume, so that data is never in an unnamed volume. Its layers have the same
# bytes in every build of a commit if the builder sets times: scripts/release/images.ts.
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
  && node scripts/install-locked.ts /tarballs /app \
  && find /app/node_modules -name '*.map' -delete

# What NODE_IMAGE brings, for the list of components: `docker build --target components --output DIR`.
FROM ${NODE_IMAGE} AS base
RUN mkdir /components \
  && dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\n' >/components/debian-packages.tsv \
  && node --version >/components/node-version.txt

FROM scratch AS components
COPY --from=base /components /

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
