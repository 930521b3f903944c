// The dashboard and the alerts of docker/monitoring: both fit their schemas, and on real servers in a real Prometheus every panel has data
// and every alert fires when its condition is brought about, and not on a server that is well.
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Ajv } from 'ajv'
import tap, { type Test, test } from 'tap'
import { skipNats } from '../../packages/server/test/cluster/nats-servers.ts'
import { until } from '../../packages/server/test/eventually.ts'
import {
  alertsIn,
  badDevices,
  busyServer,
  endingTerms,
  fullDisk,
  littleMemory,
  lostBucket,
  lostNats,
  lostThread,
  soundServer,
  type Trouble,
} from './fleet.ts'
import { monitoring, type Prometheus, skipPrometheus, startPrometheus } from './prometheus.ts'

tap.setTimeout(600_000)

const isLong = process.env.ANNAL_LONG === '1'
const rulesFile = path.join(monitoring, 'alerts.yml')

interface Panel {
  readonly type: string
  readonly id: number
  readonly title: string
  readonly description?: string
  readonly options?: unknown
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly custom?: unknown } }
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
}

// Ours.
const dashboard = JSON.parse(await readFile(path.join(monitoring, 'dashboard.json'), 'utf8')) as {
  readonly panels: readonly Panel[]
}

test('the dashboard fits the types of Grafana, and no panel covers another', async (t) => {
  const schema = JSON.parse(await readFile(new URL('../schemas/grafana.schema.json', import.meta.url), 'utf8'))
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'grafana', ...schema })
  const check = (type: string, value: unknown, what: string) => {
    const validate = ajv.getSchema(`grafana#/${type}`)
    t.ok(validate?.(value), `${what}: ${ajv.errorsText(validate?.errors)}`)
  }
  check('Dashboard', dashboard, 'dashboard.json')
  const options: Readonly<Record<string, string>> = { stat: 'StatOptions', timeseries: 'TimeseriesOptions' }
  for (const panel of dashboard.panels.filter(({ type }) => type !== 'row')) {
    check(options[panel.type] ?? panel.type, panel.options, panel.title)
    if (panel.type === 'timeseries') check('TimeseriesFieldConfig', panel.fieldConfig?.defaults.custom, panel.title)
    for (const target of panel.targets ?? []) check('PrometheusQuery', target, panel.title)
    t.ok(panel.description, `${panel.title} says what it shows`)
  }
  t.notOk(
    ajv.getSchema('grafana#/Dashboard')?.({ ...dashboard, pannels: [] }),
    'a key that Grafana does not have is found',
  )
  t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
  )
  t.equal(new Set(cells).size, cells.length)
  t.ok(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24))
})

test('the rules are valid, and fire at their times', { skip: skipPrometheus }, async (t) => {
  const promtool = (...args: readonly string[]) => execFileSync('promtool', args, { cwd: monitoring, encoding: 'utf8' })
  t.match(promtool('check', 'rules', 'alerts.yml'), /SUCCESS/)
  t.match(promtool('check', 'config', '--syntax-only', 'prometheus.yml'), /SUCCESS/)
  const files = ['alerts.test.yml', 'alerts-days.test.yml']
  t.match(promtool('test', 'rules', ...files), /SUCCESS/)
  const tested = (await Promise.all(files.map((file) => readFile(path.join(monitoring, file), 'utf8')))).join('')
  for (const alert of await alertsIn(rulesFile)) t.match(tested, `- name: ${alert}\n`)
})

/**
 * Alerts that wait a minute wait five seconds, because a scrape of a busy machine may be late, and the others do not wait. Unless the run is
 * long, windows of minutes have seconds, and what is late is late after two seconds.
 */
function quickened(rules: string): string {
  const atOnce = rules.replaceAll('for: 1m\n', 'for: 5s\n').replaceAll(/^ +for: (?!5s)\w+\n/gm, '')
  if (isLong) return atOnce
  return atOnce
    .replaceAll(/\[1h\]/g, '[120s]')
    .replaceAll(/\[\d+m\]|(?<=offset )\d+m/g, (window) => (window.startsWith('[') ? '[8s]' : '8s'))
    .replaceAll(/(lag|staleness)_seconds > \d+/g, '$1_seconds > 2')
}

/** Rows of panels that have data only with a setting, and why they may be empty here. */
function reasonOf(panel: Panel, left: readonly string[]): string | undefined {
  const text = panel.targets?.map(({ expr }) => expr).join(' ') ?? ''
  if (text.includes('annal_cluster_') && left.includes('annal-node')) return 'needs NATS'
  if (text.includes('annal_embedding_') && left.includes('annal-devices')) return 'needs strace'
  return undefined
}

test('every alert fires when its condition is brought about, and every panel has data', {
  skip: skipPrometheus,
}, async (t) => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-monitoring-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const sound = await soundServer(t, dir)
  const made = await Promise.all([
    fullDisk(t, dir),
    busyServer(t, dir),
    endingTerms(t, dir),
    lostBucket(t, dir),
    skipNats ? skipNats : lostNats(t, dir),
    badDevices(t, dir),
    littleMemory(t, dir),
    lostThread(t),
  ])
  const troubles = made.filter((one): one is Trouble => typeof one !== 'string')
  const left = ['annal-full', '', '', '', 'annal-node', 'annal-devices', 'annal-memory'].filter(
    (_, i) => typeof made[i] === 'string',
  )
  for (const reason of made) if (typeof reason === 'string') t.comment(`SKIPPED: ${reason}`)
  const targets = [sound.target, ...troubles.flatMap((one) => one.targets)]
  const prometheus = await startPrometheus(t, targets, quickened)
  const jobsOf = ({ targets: own }: Trouble) => own.map(({ job }) => job)
  await Promise.all(
    troubles.map((trouble) =>
      trouble.provoke({
        async hasFired(...alerts) {
          const fired = (alert: string) => jobsOf(trouble).some((job) => prometheus.fired.has(`${job} ${alert}`))
          const late = setTimeout(() => t.comment(`waits for ${alerts.filter((alert) => !fired(alert))}`), 120_000)
          await until(() => alerts.every(fired))
          clearTimeout(late)
          t.comment(`${jobsOf(trouble).join(', ')}: ${alerts.join(', ')} after ${Math.round(process.uptime())} s`)
        },
        shows: (expression) => until(async () => (await prometheus.query(expression)).length > 0),
      }),
    ),
  )
  const provoked = troubles.flatMap(({ alerts }) => alerts)
  t.strictSame(
    provoked.filter((alert) => !prometheus.fired.has(alert)),
    [],
  )
  const names = new Set(provoked.map((alert) => alert.split(' ')[1]))
  const missing = (await alertsIn(rulesFile)).filter((name) => !names.has(name))
  if (left.length === 0) t.strictSame(missing, [], 'every alert is provoked')
  const ofSound = [...prometheus.fired].filter((alert) => alert.startsWith('annal-sound '))
  t.strictSame(
    // The disk of the machine is not ours.
    ofSound.filter((alert) => !alert.endsWith('AnnalDiskNearlyFull')),
    [],
    'nothing fires on a server that is well',
  )
  await t.test('every query of the dashboard has data', (t) => checkPanels(t, prometheus, left))
})

async function checkPanels(t: Test, prometheus: Prometheus, left: readonly string[]): Promise<void> {
  const here = (expression: string) =>
    expression.replaceAll('$__rate_interval', '60s').replaceAll(/\$(job|instance)\b/g, '.+')
  for (const panel of dashboard.panels) {
    const reason = reasonOf(panel, left)
    for (const { expr, refId } of panel.targets ?? []) {
      // What servers that have ended said last.
      const samples = await prometheus.query(`last_over_time((${here(expr)})[5m:1s])`)
      if (reason === undefined) t.ok(samples.length > 0, `${panel.title} ${refId}: ${expr}`)
      else t.comment(`${panel.title}: ${reason}`)
    }
  }
}
