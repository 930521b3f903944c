#!/usr/bin/env bash
# Gets the nats-server that tests of a cluster run on, from Debian's newest suite, into .tools/. Installs nothing.
# The version is in docker/cluster/.env; a newer one of the same minor version does as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/.tools
# shellcheck source=../docker/cluster/.env
. docker/cluster/.env
minor=${NATS_VERSION%.*}
if [ -x "$tools/nats-server" ] && [[ "$("$tools/nats-server" --version)" == *"v$minor."* ]]; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial} "$tools"
mirror=$(apt-get indextargets --format '$(REPO_URI)' | sort -u | grep -v security | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror%/} sid main" >"$work/sources.list"
cat >"$work/apt.conf" <<C
Dir::Etc::sourcelist "$work/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$work/lists"; Dir::Cache "$work/cache"; APT::Sandbox::User "root";
C
export APT_CONFIG=$work/apt.conf
apt-get -qq update
(cd "$work" && apt-get -qq download nats-server)
dpkg-deb -x "$work"/nats-server_*.deb "$work/unpacked"
install -m 755 "$work/unpacked/usr/sbin/nats-server" "$tools/nats-server"
version=$("$tools/nats-server" --version)
[[ "$version" == *"v$minor."* ]] || { echo "Debian has $version; the tests need $NATS_VERSION" >&2; rm "$tools/nats-server"; exit 1; }
