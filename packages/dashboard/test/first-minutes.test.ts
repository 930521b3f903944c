// The first five minutes, from an empty directory: load the sample with one click, drop a table, cancel and continue a load, search by words.
import { readFileSync } from 'node:fs'
import { parquetWriteBuffer } from 'hyparquet-writer'
import type { HTTPRequest } from 'puppeteer-core'
import { test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { payloads } from './payloads.ts'
import { callServer, realServer } from './real-server.ts'

const marks = (seen: Watched) => seen.page.$$eval('.hits mark', (found) => found.map(({ textContent }) => textContent))
const count = async (address: string, collection: string, filter: readonly object[] = []) =>
  callServer(address, 'POST', `/api/v2/collection/${collection}/objects/count`, { filter }) as Promise<{
    count: number
  }>

/** As a person drops a file onto the page. */
async function drop(seen: Watched, name: string, content: string | ArrayBuffer): Promise<void> {
  await seen.page.waitForSelector('.drop')
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(new Uint8Array(content))
  await seen.page.evaluate(
    (name, base64) => {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([bytes], name))
      const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true })
      document.querySelector('.drop')!.dispatchEvent(event)
    },
    name,
    bytes.toString('base64'),
  )
}

const films = [
  'id,genre,year,description',
  'alien,horror,1979,"A crew answers a signal, and a creature comes aboard. Nobody hears them scream."',
  'solaris,drama,1972,"A psychologist travels to a station above an ocean that thinks."',
  'paterson,drama,2016,"A bus driver writes poems. Every morning he walks through the town."',
  'stalker,drama,1979,"A guide leads two men through the zone, where wishes are said to come true."',
].join('\n')

test('from an empty directory to marked words: the sample, a dropped CSV, and a search', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.sees('No collections yet')
  await seen.follow('Start with texts')
  await seen.sees('The sample is the guide of Annal (MIT license)')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Load the sample')
  await seen.sees('Search guide')
  t.ok((await count(address, 'guide')).count > 100)
  t.ok((await count(address, 'guide', [{ document: { $eq: 'backup-and-restore' } }])).count > 2)
  await seen.fill('Words to find', 'restoring backups')
  await seen.click('Search')
  await seen.page.waitForSelector('.hits mark')
  const found = await marks(seen)
  t.ok(
    found.some((word) => /^restored?$/i.test(word)) && found.some((word) => /^backups?$/i.test(word)),
    'other forms of the words are found and marked',
  )
  await seen.sees('Inverted lists')
  await seen.picture('first-search')
  t.strictSame(await seen.barriers(), [])
  await seen.click('As code')
  await seen.click('Python')
  const code = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(code, '"query": "restoring backups"')
  t.match(code, '/api/v2/collection/guide/search')
  await seen.click('Close')

  await seen.follow('Add more texts')
  await drop(seen, 'films.csv', films)
  await seen.sees('4 documents read.')
  await seen.sees('4 chunks of all documents')
  const roles = await seen.page.$$eval('td select', (found) =>
    found.map((select) => (select as HTMLSelectElement).value),
  )
  t.strictSame(roles, ['id', 'filter', 'filter', 'text'])
  await seen.fill('Tokens per chunk', '12')
  await seen.sees('alien#1')
  await seen.picture('first-columns')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Create and load')
  await seen.sees('Search films')
  t.ok((await count(address, 'films', [{ document: { $eq: 'alien' } }, { year: { $eq: 1979 } }])).count >= 2)
  await seen.fill('Words to find', 'poem driving')
  await seen.click('Search')
  await seen.sees('paterson')
  t.strictSame((await marks(seen)).sort(), ['poems'], 'a driver does not drive, but poems are poem')
  await seen.click('All words')
  await seen.click('Search')
  await seen.sees('Nothing found')

  await seen.follow('Add more texts')
  const columnData = [
    { name: 'id', data: ['one', 'two'], type: 'STRING' as const },
    { name: 'text', data: ['The first text of a table.', 'The second text of a table.'], type: 'STRING' as const },
  ]
  await drop(seen, 'table.parquet', parquetWriteBuffer({ columnData, codec: 'SNAPPY' }))
  await seen.sees('2 documents read.')
  await seen.sees('The second text of a table.')
  t.strictSame(seen.faults, [])
})

test('a damaged Parquet file on which its library loops is refused, and the page stays usable', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/texts')
  await seen.sees('Choose files')
  // The page waits for a minute.
  await seen.page.evaluate(() => {
    const wait = window.setTimeout.bind(window)
    window.setTimeout = ((run: () => void, ms: number) => wait(run, ms === 60_000 ? 1_000 : ms)) as typeof setTimeout
  })
  const endless = readFileSync(new URL('../../cli/test/golden/endless.parquet', import.meta.url))
  await drop(seen, 'endless.parquet', new Uint8Array(endless).buffer)
  await seen.sees('Reading…')
  await seen.sees('endless.parquet cannot be read: no end after 60 s; the file is damaged')
  await drop(seen, 'broken.parquet', new Uint8Array(endless.subarray(0, 900)).buffer)
  await seen.sees('broken.parquet cannot be read: parquet file invalid')
  await drop(seen, 'a.txt', 'A text.')
  await seen.sees('1 document read.')
  t.strictSame(seen.faults, [])
})

test('a load is canceled, continued, and complete', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/texts')
  const rows = Array.from({ length: 2_000 }, (_, i) =>
    JSON.stringify({ id: `r${i}`, text: `Row ${i} speaks of the sea.` }),
  )
  await drop(seen, 'rows.jsonl', rows.join('\n'))
  await seen.sees('2,000 documents read.')
  // The third batch waits until the load is canceled.
  let writes = 0
  await seen.page.setRequestInterception(true)
  seen.page.on('request', (request: HTTPRequest) => {
    if (request.method() === 'POST' && request.url().endsWith('/objects')) writes += 1
    if (writes !== 3) void request.continue()
  })
  await seen.click('Create and load')
  await seen.sees('500 of 2,000 documents, 500 chunks written')
  await seen.picture('first-progress')
  await seen.click('Cancel')
  await seen.sees('Search what is there')
  writes = 4
  t.match(await count(address, 'rows'), { count: 500 })
  await seen.click('Continue')
  await seen.sees('Search rows')
  t.match(await count(address, 'rows'), { count: 2_000 })
  t.strictSame(seen.faults, [])
})

test('payloads in dropped tables never become markup, and the page fits every width in both themes', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  const browser = await browserFor(t)
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  const [first, second, third] = payloads.slice(0, 3).map(cell)
  const hostile = [
    `${first},${second},text`,
    ...payloads.map(
      (payload, i) => `${i},${cell(payload)},${cell(`${payload} is a long text with words. `.repeat(12))}`,
    ),
    `${third},x,${cell('x'.repeat(400))}`,
  ].join('\n')
  const views = [
    { width: 1_440, theme: 'light' },
    { width: 1_024, theme: 'dark' },
    { width: 390, height: 844, theme: 'dark' },
    { width: 390, height: 844, theme: 'light' },
  ] as const
  for (const view of views) {
    const seen = await openPage(browser, address, view)
    const name = `${view.width}, ${view.theme}`
    await seen.go('#/texts')
    await drop(seen, 'hostile.csv', hostile)
    await seen.sees('41 documents read.')
    await seen.sees('chunks of the first 20 documents')
    await seen.picture(`first-${view.width}-${view.theme}`)
    const markup = await seen.page.$$eval(
      'main script, iframe, object, embed, base, [onerror], [onload], main img:not([alt=""])',
      (found) => found.map(({ outerHTML }) => outerHTML),
    )
    t.strictSame(markup, [], `${name}: no markup of a payload`)
    t.strictSame(await seen.barriers(), [], `${name}: no accessibility barriers`)
    const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= view.width, `${name}: fits (${wide})`)
    t.strictSame(seen.faults, [], name)
  }
})
