#!/usr/bin/env bash
# Starts three nodes and three NATS servers on this machine. The first run creates certificates, a password, and a token in secrets/.
# Run it again after a change; data/ and secrets/ stay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
  cat <<'TEXT'
usage: up.sh [--build] [--down]

  --build   build the image of the server from this checkout
  --down    stop and remove the containers; data is kept
TEXT
}

say() { printf '%s\n' "$*" >&2; }
die() {
  printf 'up.sh: %s\n' "$*" >&2
  exit 1
}

build=no down=no
for option in "$@"; do
  case $option in
    --build) build=yes ;;
    --down) down=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      usage >&2
      die "unknown option $option"
      ;;
  esac
done

docker compose version >/dev/null 2>&1 || die "Docker with the compose plugin is needed"
export ANNAL_USER="${ANNAL_USER:-$(id -u):$(id -g)}"
if [ "$down" = yes ]; then exec docker compose down; fi

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# Valid for ten years. The ports of NATS are not published, and the key that signs is not kept.
certificates() {
  local key=(-newkey ec -pkeyopt "ec_paramgen_curve:P-256" -nodes)
  openssl req -x509 "${key[@]}" -days 3650 -subj /CN=annal-cluster -keyout ca.key -out ca.pem &&
    openssl req "${key[@]}" -subj /CN=nats -keyout nats.key -out nats.csr &&
    openssl x509 -req -in nats.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -out nats.pem -extfile <(
      printf 'subjectAltName=DNS:nats-1,DNS:nats-2,DNS:nats-3\nextendedKeyUsage=serverAuth,clientAuth\n'
    ) &&
    rm -f ca.key nats.csr ca.srl
}

# Complete or absent, so that an interrupted run does not leave half of them.
create_secrets() {
  command -v openssl >/dev/null || die "openssl is needed to create certificates"
  local new password
  new=$(mktemp -d secrets.XXXXXX)
  mkdir "$new/nats" "$new/node"
  (cd "$new/nats" && certificates) >/dev/null 2>"$new/openssl.log" ||
    die "openssl failed: $(tail -n 1 "$new/openssl.log")"
  rm "$new/openssl.log"
  cp "$new/nats/ca.pem" "$new/node/"
  # It must not look like a number in the file of NATS.
  password=p$(random)
  echo "NATS_PASSWORD=$password" >"$new/nats.env"
  echo "annal:$password" >"$new/node/nats.user"
  cat >"$new/node.env" <<TEXT
NDD_AUTH_TOKEN=$(random)
NDD_CLUSTER_URL=tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222
NDD_CLUSTER_CREDENTIALS=/secrets/nats.user
NDD_CLUSTER_CA=/secrets/ca.pem
NDD_CLUSTER_MONITOR_URL=http://nats-1:8222,http://nats-2:8222,http://nats-3:8222
TEXT
  mv "$new" secrets
}

umask 077
[ -d secrets ] || create_secrets
mkdir -p data/nats-{1,2,3} data/node-{1,2,3}
image=${ANNAL_SERVER_IMAGE:-annal/server:latest}
if [ "$build" = yes ]; then docker build -f ../server.Dockerfile -t "$image" ../..; fi
docker compose up --detach --wait --wait-timeout 300
say "The nodes serve http://127.0.0.1:${ANNAL_PORT_1:-8081}, :${ANNAL_PORT_2:-8082} and :${ANNAL_PORT_3:-8083}; the token is in $PWD/secrets/node.env"
