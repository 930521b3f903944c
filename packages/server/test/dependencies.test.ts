// Requirements on the server's dependencies: minimum versions without known vulnerabilities, no archive unpackers, no install scripts.
import { readFile } from 'node:fs/promises'
import { test } from 'tap'

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly dev?: boolean
  readonly link?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
}

const floors: readonly [name: string, floor: string][] = [
  ['fastify', '5.12.1'],
  ['protobufjs', '8.2.0'],
  ['@msgpack/msgpack', '3.1.2'],
]
const unwanted = /^(tar|tar-fs|tar-stream|unzipper|adm-zip|yauzl|extract-zip|decompress)$/

test('production dependencies have their minimum versions, unpack nothing, and run nothing when installed', async (t) => {
  const lock = JSON.parse(await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>
  }
  const production = Object.entries(lock.packages).filter(
    ([place, { dev, link }]) => place.includes('node_modules/') && !dev && !link,
  )
  t.ok(production.length > 20)
  for (const [place, { version = '', integrity, hasInstallScript }] of production) {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    t.notMatch(name, unwanted)
    t.ok(integrity, `${name} is locked to its content`)
    t.notOk(hasInstallScript, `${name} runs nothing when it is installed`)
    const floor = floors.find(([floored]) => floored === name)
    if (floor !== undefined) t.ok(atLeast(version, floor[1]), `${name} ${version} is at least ${floor[1]}`)
  }
  for (const [name] of floors)
    t.ok(
      production.some(([place]) => place.endsWith(`node_modules/${name}`)),
      `${name} is locked`,
    )
})

function atLeast(version: string, floor: string): boolean {
  const parts = version.split('.').map(Number)
  for (const [i, least] of floor.split('.').map(Number).entries()) {
    if ((parts[i] ?? 0) !== least) return (parts[i] ?? 0) > least
  }
  return true
}
