// A real Prometheus of a test, with the alert rules of docker/monitoring. It scrapes servers of the test twice a second.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { eventually } from '../../packages/server/test/eventually.ts'
import { freePort } from '../../packages/server/test/free-port.ts'

export const monitoring = fileURLToPath(new URL('../monitoring/', import.meta.url))

/** Why tests that need it are skipped; false when they run. */
export const skipPrometheus = ['prometheus', 'promtool'].every(runs) ? false : 'needs prometheus'

function runs(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    // Not installed.
    return false
  }
}

/** A server to scrape. */
export interface Target {
  readonly job: string
  /** `127.0.0.1:8080` */
  readonly address: string
  readonly scheme?: 'https'
  readonly token?: string
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  /** Alerts that have fired since the start, by `job alertname`. */
  readonly fired: ReadonlySet<string>
  /** Samples of the newest moment. Throws what Prometheus says about a query that it cannot run. */
  query(expression: string): Promise<readonly Sample[]>
}

/** Starts it with the rules as `change` makes them. It ends with the test. */
export async function startPrometheus(
  t: Test,
  targets: readonly Target[],
  change: (rules: string) => string,
): Promise<Prometheus> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-prometheus-'))
  const listen = `127.0.0.1:${await freePort()}`
  await writeFile(path.join(dir, 'alerts.yml'), change(await readFile(path.join(monitoring, 'alerts.yml'), 'utf8')))
  const config = {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
    rule_files: ['alerts.yml'],
    scrape_configs: targets.map(({ job, address, scheme, token }) => ({
      job_name: job,
      static_configs: [{ targets: [address] }],
      ...(scheme && { scheme, tls_config: { insecure_skip_verify: true } }),
      ...(token && { authorization: { credentials: token } }),
    })),
  }
  await writeFile(path.join(dir, 'prometheus.yml'), stringify(config))
  const options = { 'config.file': 'prometheus.yml', 'storage.tsdb.path': 'data', 'web.listen-address': listen }
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  const child = spawn('prometheus', [...args, '--log.level=error'], { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (bytes: Buffer) => {
    errors += bytes.toString()
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const get = async (route: string) => {
    const reply = await fetch(`http://${listen}/api/v1/${route}`).catch(() => undefined)
    // It is not ready.
    if (reply?.status === 503) return undefined
    return reply && ((await reply.json()) as { readonly data?: unknown; readonly error?: string })
  }
  const fired = new Set<string>()
  let isOver = false
  const watching = watch()
  t.teardown(async () => {
    isOver = true
    await watching
    child.kill('SIGTERM')
    await ended
    await rm(dir, { recursive: true, force: true })
  })

  async function watch(): Promise<void> {
    while (!isOver) {
      const { alerts } = ((await get('alerts'))?.data ?? { alerts: [] }) as Alerts
      for (const { state, labels } of alerts) if (state === 'firing') fired.add(`${labels.job} ${labels.alertname}`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended: ${errors}`)
    return get('alerts')
  })
  return {
    fired,
    async query(expression) {
      const reply = await get(`query?query=${encodeURIComponent(expression)}`)
      if (reply?.data === undefined) throw new Error(`${expression}: ${reply?.error ?? 'no reply'}`)
      const { result } = reply.data as { readonly result: readonly Result[] }
      return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }))
    },
  }
}

interface Alerts {
  readonly alerts: readonly { readonly state: string; readonly labels: Readonly<Record<string, string>> }[]
}

interface Result {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}
