// Three nodes and three NATS servers on a real Docker engine: started with one command, the leader killed, and started again. Runs with
// ANNAL_LONG=1 if an engine responds. Without an image of NATS, one is made of the binary that the other tests run.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { freePort } from '../../packages/server/test/free-port.ts'
import { answers, skipDocker } from './docker-engine.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const serverImage = 'annal/server:test'
const natsBinary = path.join(root, '.tools/nats-server')

test('the script has no known faults', {
  skip: answers('shellcheck', '--version') ? false : 'needs shellcheck',
}, async (t) => {
  await run('shellcheck', [path.join(root, 'docker/cluster/up.sh')])
  t.pass()
})

/** An image of the server, from this checkout. */
async function serverImageReady(): Promise<void> {
  if (answers('docker', 'image', 'inspect', serverImage)) return
  await run('docker', ['build', '-q', '-f', 'docker/server.Dockerfile', '-t', serverImage, '.'], { cwd: root })
}

/** The image of NATS that the stack names, or one of the binary of the tests. */
async function natsImage(folder: string): Promise<string> {
  const [, version = ''] = /NATS_VERSION=(\S+)/.exec(readFileSync(path.join(root, 'docker/cluster/.env'), 'utf8')) ?? []
  const image = `nats:${version}`
  if (answers('docker', 'image', 'inspect', image) || answers('docker', 'pull', '-q', image)) return image
  const context = path.join(folder, 'nats')
  mkdirSync(context)
  cpSync(natsBinary, path.join(context, 'nats-server'))
  writeFileSync(
    path.join(context, 'Dockerfile'),
    'FROM node:24-bookworm-slim\nCOPY nats-server /nats-server\nENTRYPOINT ["/nats-server"]\n',
  )
  await run('docker', ['build', '-q', '-t', 'annal-test/nats', context])
  return 'annal-test/nats'
}

interface Health {
  readonly status: string
  readonly cluster: { readonly node: string; readonly role: string; readonly epoch: number }
}

test('one command starts a cluster, which loses no acknowledged write with its leader', {
  skip: skipDocker,
  timeout: 1_200_000,
}, async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-cluster-test-'))
  const dir = path.join(folder, 'cluster')
  cpSync(path.join(root, 'docker/cluster'), dir, { recursive: true })
  await serverImageReady()
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const environment = {
    ...process.env,
    ANNAL_PROJECT: path.basename(folder),
    ANNAL_SERVER_IMAGE: serverImage,
    NATS_IMAGE: await natsImage(folder),
    ANNAL_PORT_1: `${ports[0]}`,
    ANNAL_PORT_2: `${ports[1]}`,
    ANNAL_PORT_3: `${ports[2]}`,
  }
  const up = (...args: readonly string[]) => run('bash', [path.join(dir, 'up.sh'), ...args], { env: environment })
  const compose = (...args: readonly string[]) => run('docker', ['compose', ...args], { cwd: dir, env: environment })
  t.teardown(async () => {
    await up('--down').catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  const { stderr } = await up()
  const [, token = ''] = /NDD_AUTH_TOKEN=(\S+)/.exec(readFileSync(path.join(dir, 'secrets/node.env'), 'utf8')) ?? []
  t.match(token, /^[0-9a-f]{32}$/)
  t.notMatch(stderr, token)
  t.equal(statSync(path.join(dir, 'secrets/node.env')).mode & 0o777, 0o600)
  t.notOk(existsSync(path.join(dir, 'secrets/nats/ca.key')))

  const call = async (node: number, route: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
    const reply = await fetch(`http://127.0.0.1:${ports[node]}/api/v2/${route}`, request)
    return { status: reply.status, body: (await reply.json()) as unknown }
  }
  const healthOf = async (node: number) => (await call(node, 'health')).body as Health
  const until = async <T>(find: () => Promise<T | undefined>): Promise<T> => {
    for (let tries = 0; tries < 600; tries += 1) {
      const found = await find().catch(() => undefined)
      if (found !== undefined) return found
      await sleep(200)
    }
    throw new Error('it did not happen in two minutes')
  }
  const leader = (without = -1) =>
    until(async () => {
      for (const node of [0, 1, 2])
        if (node !== without && (await healthOf(node)).cluster.role === 'leader') return node
      return undefined
    })

  const first = await leader()
  const follower = (first + 1) % 3
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
  t.match(await call(follower, 'collection', { name: 'docs', fields }), { status: 200 })
  const write = (node: number, id: string) =>
    call(node, 'collection/docs/objects', { objects: [{ id, fields: { v: [1, 2] } }] })
  t.match(await write(follower, 'before'), { status: 200 }, 'a follower forwards it')

  await compose('kill', `node-${first + 1}`)
  const second = await leader(first)
  t.match(await write(second, 'after'), { status: 200 })
  const count = (node: number) =>
    until(async () => {
      const { status, body } = await call(node, 'collection/docs/objects/count', {})
      return status === 200 && (body as { count: number }).count === 2 ? 2 : undefined
    })
  t.equal(await count(second), 2)
  await up()
  for (const node of [0, 1, 2]) t.equal(await count(node), 2, `node-${node + 1} has both`)
  t.match((await healthOf(first)).cluster, { node: `node-${first + 1}`, role: 'follower' })
})
