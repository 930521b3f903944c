// The images and the installer on a real Docker engine: installs with one command, kills, upgrades, and removes. Tests that need an
// engine take minutes. They run with ANNAL_LONG=1 if an engine responds, and are skipped by name if not.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Client, connect } from '@annal/client'
import { after, type Test, test } from 'tap'
import { freePort } from '../../packages/server/test/free-port.ts'
import { answers, skipDocker } from './docker-engine.ts'

const run = promisify(execFile)
const docker = fileURLToPath(new URL('../', import.meta.url))
const installer = path.join(docker, 'install.sh')
const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-install-test-'))
const project = `annal-test-${randomBytes(3).toString('hex')}`
const dir = path.join(folder, project)
const data = path.join(folder, 'data')
const image = 'annal/server:test'
const web = 'annal/web:test'

interface Ended {
  readonly code: number
  readonly output: string
}

async function install(...args: readonly string[]): Promise<Ended> {
  const environment = { ...process.env, HOME: folder }
  const ending = run('bash', [installer, ...args], { env: environment, maxBuffer: 2 ** 26 })
  ending.child.stdin?.end()
  return ending.then(
    ({ stderr, stdout }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  )
}

function setting(name: string): string {
  return new RegExp(`^${name}='(.*)'$`, 'm').exec(readFileSync(path.join(dir, '.env'), 'utf8'))?.[1] ?? ''
}

async function containerOf(service: string): Promise<string> {
  const { stdout } = await run('docker', ['compose', '--project-directory', dir, 'ps', '-aq', service])
  return stdout.trim()
}

async function inspect(container: string, format: string): Promise<string> {
  return (await run('docker', ['inspect', '-f', format, container])).stdout.trim()
}

async function healthy(t: Test): Promise<void> {
  for (let tries = 0; tries < 240; tries += 1) {
    if ((await inspect(await containerOf('server'), '{{.State.Health.Status}}')) === 'healthy') return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  t.fail('the server did not become healthy again')
}

after(async () => {
  if (existsSync(path.join(dir, '.env'))) await install('uninstall', '--yes', '--dir', dir)
  rmSync(folder, { recursive: true, force: true })
})

test('the script has no known faults', {
  skip: answers('shellcheck', '--version') ? false : 'needs shellcheck',
}, async (t) => {
  await run('shellcheck', [installer])
  t.pass()
})

test('invalid settings are rejected before anything is written', async (t) => {
  const rejected: readonly [readonly string[], RegExp][] = [
    [['--token', 'unsafe_root_token'], /publicly known/],
    [['--token', 'short'], /shorter than 16/],
    [['--token', "it's-a-long-token-with-quotes"], /may contain only letters/],
    [['--port', '70000'], /is not a port/],
    [['--port', '8080', '--web-port', '8080'], /are both 8080/],
    [['--frob'], /unknown option/],
    [['--dir'], /needs a value/],
    [['uninstall', '--dir', path.join(folder, 'nowhere')], /nothing is installed/],
  ]
  for (const [args, expected] of rejected) {
    const ended = await install('--yes', ...args)
    t.not(ended.code, 0, args.join(' '))
    t.match(ended.output, expected)
  }
  const unanswered = await install('--dir', path.join(folder, 'unanswered'))
  t.match(unanswered.output, /no answer; --yes takes the defaults/)
  t.same(readdirSync(folder), [])
})

test('installed in one command, killed, upgraded, rolled back and uninstalled, without losing an acknowledged write', {
  skip: skipDocker,
  timeout: 1_200_000,
}, async (t) => {
  const [port, webPort] = [`${await freePort()}`, `${await freePort()}`]
  const built = answers('docker', 'image', 'inspect', image) && answers('docker', 'image', 'inspect', web)
  const options = ['--yes', '--dir', dir, '--image', image, '--web-image', web]
  const places = ['--data', data, '--port', port, '--web-port', webPort]
  const installed = await install(...options, ...places, built ? '--no-pull' : '--build')
  t.equal(installed.code, 0, installed.output)
  t.equal(statSync(path.join(dir, '.env')).mode & 0o777, 0o600)
  const token = setting('NDD_ROOT_TOKEN')
  t.match(token, /^[0-9a-f]{64}$/)
  t.notMatch(installed.output, token)

  await t.test('both containers run without rights', async (t) => {
    for (const service of ['server', 'web']) {
      const id = await containerOf(service)
      t.equal(
        await inspect(id, '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Privileged}}'),
        'true [ALL] false',
      )
      t.not((await run('docker', ['exec', id, 'id', '-u'])).stdout.trim(), '0')
    }
    t.equal((await fetch(`http://127.0.0.1:${webPort}/`)).status, 200)
    t.equal((await fetch(`http://127.0.0.1:${webPort}/api/v2/health`)).status, 200)
    t.equal(await inspect(await containerOf('server'), '{{len .Config.Volumes}}'), '0')
  })

  const url = `http://127.0.0.1:${port}`
  const dbToken = await connect({ url, token }).databases.create('films')
  const client = connect({ url, token: dbToken, retriesMax: 0 })
  const fields = [{ name: 'plot', type: 'vector', params: { dimension: 8, space_type: 'l2' } }] as const
  await client.createCollection({ name: 'films', fields })
  let acknowledged = 0
  const write = async (client: Client) => {
    const vector = Float32Array.from({ length: 8 }, (_, i) => acknowledged + i)
    await client.collection('films').upsert([{ id: `${acknowledged}`, fields: { plot: vector } }])
    acknowledged += 1
  }
  const allThere = async (t: Test) => {
    let missing = 0
    const { films } = { films: client.collection('films') }
    for (let i = 0; i < acknowledged; i += 1) if ((await films.get(`${i}`)) === undefined) missing += 1
    t.equal(missing, 0, `${acknowledged} acknowledged, ${missing} missing`)
  }

  await t.test('killed under load it is restarted with everything it acknowledged', async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const pid = await inspect(await containerOf('server'), '{{.State.Pid}}')
      const killing = setTimeout(() => process.kill(Number(pid), 'SIGKILL'), 700)
      await t.rejects(async () => {
        while (true) await write(client)
      })
      clearTimeout(killing)
      await healthy(t)
    }
    t.ok(acknowledged > 10)
    await allThere(t)
  })

  await t.test('run again it upgrades, with a backup first, and keeps token, ports and data', async (t) => {
    appendFileSync(path.join(dir, '.env'), "NDD_TOP_K_MAX='600'\nNDD_NUM_SERVER_THREADS='3'\n")
    const upgraded = await install(...options, '--no-pull')
    t.equal(upgraded.code, 0, upgraded.output)
    const query = new Array(8).fill(0)
    t.ok(
      await client.collection('films').search({ fields: { plot: { query, limit: 600 } } }),
      'the setting is in force',
    )
    t.equal(setting('NDD_ROOT_TOKEN'), token)
    t.equal(readdirSync(folder).filter((name) => name.startsWith('data.before-')).length, 1)
    await allThere(t)
  })

  await t.test('every serving thread answers, a stop lets requests end, and a start has the data', async (t) => {
    const metrics = async (): Promise<string> => {
      const reply = await fetch(`${url}/metrics`, { headers: { authorization: token } })
      return reply.text()
    }
    t.match(await metrics(), /^annal_serving_threads 3$/m, 'the setting is in force')
    const query = Float32Array.from({ length: 8 }, (_, i) => i)
    const search = () => client.collection('films').search({ fields: { plot: { query, limit: 1 } } })
    // The system distributes connections by chance.
    const threads = async () =>
      new Set((await metrics()).match(/^annal_thread_requests_total\{thread="\d+"\} [1-9]/gm)).size
    for (let tries = 0; (await threads()) < 3 && tries < 100; tries += 1) {
      const headers = {
        authorization: dbToken,
        'content-type': 'application/json',
        accept: 'application/json',
        connection: 'close',
      }
      const body = JSON.stringify({ fields: { plot: { query: [...query], limit: 1 } } })
      const reply = await fetch(`${url}/api/v2/collection/films/search`, { method: 'POST', headers, body })
      t.equal(reply.status, 200)
      t.match(await reply.json(), { results: { plot: [{ id: '0' }] } })
    }
    t.equal(await threads(), 3)
    const id = await containerOf('server')
    let replies = 0
    const sending = Promise.allSettled(
      [search, () => write(client)].map(async (send) => {
        for (;;) {
          await send()
          replies += 1
        }
      }),
    )
    while (replies < 100) await new Promise((resolve) => setImmediate(resolve))
    await run('docker', ['stop', '-t', '60', id])
    await sending
    t.equal(await inspect(id, '{{.State.ExitCode}} {{.State.OOMKilled}}'), '0 false')
    await run('docker', ['start', id])
    await healthy(t)
    await allThere(t)
    t.match(await search(), { results: { plot: [{ id: '0' }] } })
  })

  await t.test('a version that does not become healthy is rolled back', async (t) => {
    const broken = `${project}-broken`
    const content = `FROM ${image}\nCMD ["frob"]\n`
    const building = run('docker', ['build', '-q', '-t', broken, '-'])
    building.child.stdin?.end(content)
    await building
    const failed = await install(
      '--yes',
      '--dir',
      dir,
      '--image',
      broken,
      '--web-image',
      web,
      '--no-pull',
      '--wait',
      '20',
    )
    t.not(failed.code, 0)
    t.match(failed.output, /rolled back/)
    await healthy(t)
    await allThere(t)
    await run('docker', ['image', 'rm', '-f', broken])
  })

  await t.test('uninstalled it leaves the data', async (t) => {
    const gone = await install('uninstall', '--yes', '--dir', dir)
    t.equal(gone.code, 0, gone.output)
    t.notOk(existsSync(dir))
    t.ok(existsSync(path.join(data, 'wal')))
  })
})
