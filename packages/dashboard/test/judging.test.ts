// Judging two settings with judged questions about the guide: the figures are those of `annal evaluate`.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { HTTPRequest } from 'puppeteer-core'
import { test } from 'tap'
import { commandProgram } from '../../server/test/programs.ts'
import { sampleDocuments } from '../build/sample.ts'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { gradesFile, judgedGuide, queriesFile } from './judged-guide.ts'
import { callServer, realServer } from './real-server.ts'

async function makeGuide(address: string): Promise<void> {
  const fields = [
    { name: 'exact', type: 'text' },
    { name: 'body', type: 'text', params: { language: 'english' } },
  ]
  await callServer(address, 'POST', '/api/v2/collection', { name: 'guide', fields })
  const objects = (await sampleDocuments()).map(({ document, text }) => ({
    id: document,
    fields: { exact: text, body: text },
  }))
  await callServer(address, 'POST', '/api/v2/collection/guide/objects', { objects })
}

/** As a person drops files onto the page. */
async function drop(seen: Watched, files: Readonly<Record<string, string>>): Promise<void> {
  await seen.page.waitForSelector('.drop')
  await seen.page.evaluate((files) => {
    const dataTransfer = new DataTransfer()
    for (const [name, text] of Object.entries(files)) dataTransfer.items.add(new File([text], name))
    const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true })
    document.querySelector('.drop')!.dispatchEvent(event)
  }, files)
}

const rows = (seen: Watched) =>
  seen.page.$$eval('table.judgment tbody tr', (found) =>
    found.map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent.trim())),
  )

test('two settings are judged side by side, with the figures of annal evaluate', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeGuide(address)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/guide/judging')
  await seen.sees('Choose the two files first.')
  t.strictSame(await seen.barriers(), [])
  await drop(seen, { 'qrels.tsv': gradesFile, 'queries.jsonl': queriesFile })
  await seen.sees('queries.jsonl')
  await seen.sees('qrels.tsv')
  const [a, b] = await seen.page.$$eval('fieldset textarea', (areas) =>
    areas.map((area) => (area as HTMLTextAreaElement).value),
  )
  t.strictSame([JSON.parse(a!), JSON.parse(b!)], [{ fields: { exact: {} } }, { fields: { body: {} } }])
  await seen.click('Judge')
  await seen.sees(`${judgedGuide.length} judged queries`)
  const shown = await rows(seen)

  const dir = t.testdir()
  await writeFile(path.join(dir, 'queries.jsonl'), queriesFile)
  await writeFile(path.join(dir, 'qrels.tsv'), gradesFile)
  await seen.click('As command')
  const command = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(command, "annal evaluate guide --queries queries.jsonl --qrels qrels.tsv -k 10 \\\n  --a '{")
  await seen.click('Close')
  // The arguments as the shell splits them.
  const args = [...command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare!,
  )
  const { stdout } = await promisify(execFile)(process.execPath, [...commandProgram, ...args.slice(1), '--json'], {
    cwd: dir,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      NDD_SERVER_URL: address,
    },
  }).catch((failed: { code: number; stdout: string }) => {
    // 1: B is significantly worse.
    if (failed.code === 1) return failed
    throw failed
  })
  const report = JSON.parse(stdout)
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(4)}`
  const expected = (['ndcg', 'recall', 'mrr'] as const).map((name, i) => {
    const { difference, interval, better, worse, equal, p } = report.comparison[name]
    return [
      `${['nDCG', 'recall', 'MRR'][i]}@10`,
      ...[report.a[name].toFixed(4), report.b[name].toFixed(4), signed(difference)],
      `${signed(interval.low)} to ${signed(interval.high)}`,
      ...[better, worse, equal].map(String),
      p < 0.0001 ? '< 0.0001' : p.toFixed(4),
    ]
  })
  t.strictSame(shown, expected)
  t.ok(report.b.ndcg > report.a.ndcg, `stems find more: ${report.a.ndcg} and ${report.b.ndcg}`)
  await seen.picture('judging')
  t.strictSame(await seen.barriers(), [])

  // The first of the queries that differ most, with its hits.
  const differences = report.perQuery.map((one: { id: string; a: { ndcg: number }; b: { ndcg: number } }) => ({
    id: one.id,
    difference: Math.abs(one.b.ndcg - one.a.ndcg),
  }))
  differences.sort((x: { difference: number }, y: { difference: number }) => y.difference - x.difference)
  const ids = await seen.page.$$eval('.judged summary bdi.mono', (found) => found.map(({ textContent }) => textContent))
  t.equal(ids[0], differences[0].id)
  await seen.page.locator('.judged summary').click()
  await seen.page.waitForSelector('.judged-hits .hits li .of-text')
  const { results } = (await callServer(address, 'POST', '/api/v2/collection/guide/search', {
    fields: { body: { query: judgedGuide[Number(ids[0]!.slice(1)) - 1]![0], limit: 10 } },
  })) as { readonly results: { readonly body: readonly { readonly id: string }[] } }
  const hits = await seen.page.$$eval('section[aria-label="Hits of B"] li a', (found) =>
    found.map(({ textContent }) => textContent),
  )
  t.strictSame(
    hits,
    results.body.map(({ id }) => id),
  )
  await seen.sees('grade 2')
  await seen.picture('judging-hits')
  t.strictSame(await seen.barriers(), [])

  // One setting alone, and errors that name what is wrong.
  await seen.click('Judge A alone')
  await seen.click('Judge')
  await seen.sees('Queries that A answers worst')
  t.strictSame(
    await rows(seen),
    expected.map(([name, first]) => [name, first]),
  )
  await seen.fill('Search A as JSON', '{"fields":{"title":{}}}')
  await seen.click('Judge')
  await seen.sees('the collection has no field title; it has exact, body')
  t.equal((await seen.page.$$('[role=alert], .toast')).length, 1, 'one failure is shown once')
  await seen.fill('Search A as JSON', '{"fields":{"body":{}}}')
  await drop(seen, { 'wrong.tsv': 'g1\ttext\n' })
  await seen.sees('wrong.tsv')
  await seen.click('Judge')
  await seen.sees('wrong.tsv:1: a line must be query, document, and grade')
  t.strictSame(seen.faults, [])
})

test('judging shows its progress and can be canceled, and fits a phone in both themes', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeGuide(address)
  const browser = await browserFor(t)
  // The questions three times, so that there are several requests.
  const times = ['x', 'y', 'z']
  const queries = times.flatMap((time) => queriesFile.split('\n').map((line) => line.replace('"g', `"${time}g`)))
  const grades = times.flatMap((time) => gradesFile.split('\n').map((line) => time + line))
  for (const theme of ['light', 'dark'] as const) {
    const seen = await openPage(browser, address, { width: 390, height: 844, theme })
    await seen.go('#/collections/guide/judging')
    await drop(seen, { 'queries.jsonl': queries.join('\n'), 'qrels.tsv': grades.join('\n') })
    await seen.sees('queries.jsonl')
    // The second request waits until the judgment is canceled.
    let searches = 0
    await seen.page.setRequestInterception(true)
    seen.page.on('request', (request: HTTPRequest) => {
      if (request.url().endsWith('/search/batch')) searches += 1
      if (searches !== 3) void request.continue()
    })
    await seen.click('Judge')
    await seen.sees('20 of 66 queries')
    t.strictSame(await seen.barriers(), [])
    await seen.click('Cancel')
    await seen.page.waitForFunction(() => document.querySelector('[role=progressbar]') === null)
    t.equal((await seen.page.$$('[role=alert]')).length, 0, 'who cancels needs no error')
    searches = 4
    await seen.click('Judge')
    await seen.sees('66 judged queries')
    await seen.page.locator('.judged summary').click()
    await seen.page.waitForSelector('.judged-hits .hits li .of-text')
    await seen.picture(`judging-phone-${theme}`)
    t.strictSame(await seen.barriers(), [], theme)
    const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= 390, `fits (${wide})`)
    t.strictSame(seen.faults, [], theme)
  }
})
