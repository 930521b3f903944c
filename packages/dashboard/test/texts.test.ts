// Collections with texts by clicks: create, insert, search by words and clauses and with a vector, read the plan, edit a text.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realServer } from './real-server.ts'
import { submit } from './steps.ts'

const hebrew = 'שועל אדום קפץ'

test('clicks create a collection with texts, search it by words, and change a text', {
  skip,
  timeout: 180_000,
}, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 400 })
  await seen.go('#/collections?new=1')
  await seen.click('Text field')
  await seen.select('Language', 'english')
  await submit(seen, { Name: 'stories', Dimension: '4' }, 'Create collection', 'Collection stories created.')
  await seen.sees('language english, analyzer 1, k1 1.2, b 0.75')
  t.strictSame(await seen.barriers(), [])

  await seen.follow('Objects')
  await seen.click('Insert objects')
  await seen.click('Insert examples')
  await seen.click('Write objects')
  await seen.sees('20 objects written.')
  await seen.sees('crosses')
  const objects = [
    { id: 'long', fields: { text: `A red fox jumped. ${'Nothing happened. '.repeat(60)}`, vector: [1, 0, 0, 0] } },
    { id: 'right-to-left', fields: { text: hebrew, vector: [0, 1, 0, 0] } },
  ]
  await callServer(address, 'POST', '/api/v2/collection/stories/objects', { objects })

  await seen.go('#/collections/stories/search')
  await seen.tick('text')
  await seen.tick('vector')
  await seen.fill('Words to find', 'jumping foxes')
  await seen.click('All words')
  await seen.click('Search')
  await seen.sees('1 hits')
  const marks = () => seen.page.$$eval('.hits mark', (found) => found.map((mark) => mark.textContent))
  t.strictSame(await marks(), ['fox', 'jumped'], 'the words of the text, not of the query')
  await seen.sees('Inverted lists')
  const terms = await seen.page.$eval('ul[aria-label=Terms]', (list) => list.textContent)
  t.match(terms, /jump 1 text/)
  await seen.picture('texts-search')
  t.strictSame(await seen.barriers(), [])

  await seen.click('Clauses')
  await seen.fill('Clauses as JSON', '{"must": [{"prefix": "fo"}], "must_not": ["red"]}')
  await seen.click('Search')
  await seen.sees('3 hits')
  t.notOk((await marks()).includes('red'))
  await seen.fill('Clauses as JSON', '{"must_not": ["red"]}')
  await seen.click('Search')
  await seen.sees('must have a clause in must or should')

  await seen.click('Words')
  await seen.fill('Words to find', 'red fox')
  await seen.tick('vector')
  await seen.fillAt('fieldset:nth-of-type(1) input[placeholder="object id"]', 'long')
  await seen.click('Search')
  await seen.sees('Fusion')
  await seen.sees('Fused')
  t.ok((await marks()).length > 0, 'fused hits show the words too')
  await seen.click('As code')
  await seen.click('Python')
  const code = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(code, '"query": "red fox"')
  await seen.click('Close')

  await seen.go('#/collections/stories/objects')
  await seen.sees(hebrew)
  const direction = await seen.page.$$eval(
    'bdi',
    (found, text) => {
      const bdi = found.find(({ textContent }) => textContent === text)
      return bdi && getComputedStyle(bdi).direction
    },
    hebrew,
  )
  t.equal(direction, 'rtl', 'the text decides its direction')
  await seen.go('#/collections/stories/objects?id=long')
  await seen.fill('Text of text', 'A blue whale sang.')
  await seen.click('Save changes')
  await seen.sees('long saved.')
  const search = { fields: { text: { query: 'whales' } } }
  const found = (await callServer(address, 'POST', '/api/v2/collection/stories/search', search)) as {
    readonly results: { readonly text: readonly { readonly id: string }[] }
  }
  t.strictSame(
    found.results.text.map(({ id }) => id),
    ['long'],
  )

  await seen.go('#/console?method=POST&path=%2Fapi%2Fv2%2Fcollection%2F%7Bname%7D%2Fsearch')
  await seen.sees('fields.<name>.highlight')
  await seen.sees('fields.<name>.query.must')
  t.strictSame(seen.faults, [])
})
