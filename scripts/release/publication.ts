// The commands that publish a release, in order. Only `npm run release -- --publish` runs them.
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { publishedPackages } from '../pack.ts'

export interface Command {
  readonly what: string
  readonly program: string
  readonly args: readonly string[]
}

export interface Publication {
  readonly version: string
  readonly commit: string
  /** The folder with the artifacts. */
  readonly out: string
  /** Name of the images without their last part, such as `registry.example/annal`; undefined: images are not published. */
  readonly images: string | undefined
  /** Options of `docker buildx build` that other builds of this release had. */
  readonly dockerOptions: readonly string[]
  readonly epoch: number
}

export function publicationCommands(release: Publication): Command[] {
  const { version, commit, out } = release
  const tag = `v${version}`
  const tarballs = publishedPackages.map((name) => {
    const file = name === 'cli' ? `annal-${version}.tgz` : `annal-${name}-${version}.tgz`
    return path.join(out, file)
  })
  const python = readdirSync(out).filter((name) => /\.(whl|tar\.gz)$/.test(name))
  return [
    { what: 'tag the commit', program: 'git', args: ['tag', '--sign', tag, commit, '--message', `Annal ${version}`] },
    { what: 'push the tag', program: 'git', args: ['push', 'origin', tag] },
    // A provenance statement comes from the identity of a CI job: a registry refuses one that was made anywhere else.
    ...tarballs.map((file) => ({
      what: 'publish a package with its provenance',
      program: 'npm',
      args: ['publish', '--access', 'public', '--provenance', file],
    })),
    {
      what: 'publish the Python client with its attestations',
      program: 'python3',
      args: ['-m', 'twine', 'upload', '--attestations', ...python.map((name) => path.join(out, name))],
    },
    ...imageCommands(release),
  ]
}

/** They are built again, with the same bytes, so that the builder adds its provenance and a list of components. */
function imageCommands({ images, version, dockerOptions, epoch }: Publication): Command[] {
  if (images === undefined) return []
  const server = `${images}/server:${version}`
  const push = (name: string) => [
    '--provenance=mode=max',
    '--sbom=true',
    '--output',
    `type=registry,name=${name},rewrite-timestamp=true`,
  ]
  const build = ['buildx', 'build', '--build-arg', `SOURCE_DATE_EPOCH=${epoch}`, ...dockerOptions]
  const web = ['-f', 'docker/web.Dockerfile', '--build-arg', `SERVER_IMAGE=${server}`]
  return [
    {
      what: 'publish the image of the server',
      program: 'docker',
      args: [...build, '-f', 'docker/server.Dockerfile', ...push(server), '.'],
    },
    {
      what: 'publish the image of the dashboard',
      program: 'docker',
      args: [...build, ...web, ...push(`${images}/web:${version}`), 'docker'],
    },
  ]
}
