// `annal top`: one line for each measurement in a pipe, JSON for programs, and the whole screen of a terminal.
import path from 'node:path'
import { connect } from '@annal/client'
import tap, { test } from 'tap'
import { requestLine } from '../src/commands/top.ts'
import { quantile, samplesOf, total } from '../src/metrics-text.ts'
import { annal, freshDir, serve } from './command.ts'
import { noPty, onTerminal } from './pty.ts'

tap.setTimeout(300_000)

test('samples, sums, and quantiles of the text of metrics', (t) => {
  const of = (fast: number, slow: number) =>
    samplesOf(
      `# HELP s x\ns_bucket{route="/a{b}\\"",le="0.1"} ${fast}\ns_bucket{route="/a{b}\\"",le="+Inf"} ${fast + slow}\nup 1\n`,
    )
  t.strictSame(of(1, 2)[1], { name: 's_bucket', labels: { route: '/a{b}\\"', le: '+Inf' }, value: 3 })
  t.equal(
    total(of(1, 2), 's_bucket', ({ labels }) => labels.le === '0.1'),
    1,
  )
  t.equal(quantile(0.5, 's', of(1, 2), of(9, 3)), 0.1)
  t.equal(quantile(0.99, 's', of(1, 2), of(9, 3)), Number.POSITIVE_INFINITY)
  t.equal(quantile(0.5, 's', of(1, 2), of(1, 2)), undefined)
  t.end()
})

test('a request that does not fit keeps its time and its status', (t) => {
  const line = '2026-11-27T15:44:29Z INFO: default/films: POST /api/v2/collection/films/search 200 (3.3ms)'
  t.equal(requestLine(line, undefined), line)
  t.equal(requestLine(line, 100), line)
  t.equal(requestLine(line, 80), '15:44:29 POST /api/v2/collection/films/search 200 (3.3ms)')
  t.equal(requestLine(line, 40), '15:44:29 POST /api/v2/col... 200 (3.3ms)')
  t.equal(requestLine('something else that is long', 20), 'something else th...')
  t.end()
})

test('against a running server', async (t) => {
  const { address } = await serve(t, path.join(freshDir(t), 'data'))
  const environment = { NDD_SERVER_URL: address }
  await using client = connect(address)
  const films = await client.createCollection({
    name: 'films',
    fields: [{ name: 'v', type: 'vector', params: { dimension: 2 } }],
  })
  await films.upsert([{ id: 'a', fields: { v: [1, 2] } }])
  let goesOn = true
  const searching = (async () => {
    while (goesOn) {
      await films.search({ fields: { v: { query: [1, 2] } } })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const json = JSON.parse((await annal(['top', '--once', '--json', '--interval', '1'], environment)).out)
  t.match(json, { status: 'ok', objects: 1, collections: 1 })
  t.ok(
    json.searchesPerSecond > 0 &&
      json.requestsPerSecond >= json.searchesPerSecond &&
      json.p99Seconds > 0 &&
      json.residentBytes > 0,
  )
  const lines = await annal(['top', '--count', '2', '--interval', '0.5'], environment)
  t.match(lines.out, /^(\S+Z {2}\d\S* requests\/s {2}\d\S* searches\/s {2}.* in progress {2}.* resident\n){2}$/)
  t.match(
    (await annal(['top', '--once', '--interval', '0.5'], environment)).out,
    /newest requests\n.*POST \/api\/v2\/collection\/films\//,
  )
  t.match(await annal(['top', '--interval', '0'], environment), { code: 64, err: /from 0\.1 to 3600/ })
  await t.test('on a terminal', { skip: noPty }, async (t) => {
    const shown = onTerminal(['top', '--interval', '0.2'], environment)
    await shown.until(/searches\/s +\d/)
    shown.type('q')
    t.equal(await shown.ended, 0)
    t.ok(shown.shown().trimEnd().endsWith('\u001b[?25h\u001b[?1049l'), 'the screen is as before')
  })
  goesOn = false
  await searching
})
