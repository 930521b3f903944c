// User data is rendered as text everywhere: 40 payloads as ids, meta, filters, filter keys and texts, on every page that shows them.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { payloads } from './payloads.ts'
import { callServer, realServer } from './real-server.ts'

test('payloads in ids, meta, filters and texts never run and never become markup', {
  skip,
  timeout: 120_000,
}, async (t) => {
  t.equal(new Set(payloads).size, 40)
  const address = await realServer(t)
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'hostile',
    fields: [
      { name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } },
      { name: 'body', type: 'text', params: { language: 'none' } },
    ],
  })
  const objects = payloads.map((payload, i) => ({
    id: payload,
    meta: { title: payload, [payload]: payload },
    filter: { text: payload, [payload.slice(0, 60)]: payload },
    fields: { v: [i, 1, 2, 3], body: `${payload} smuggled ${payload} ${payload.repeat(20)}` },
  }))
  await callServer(address, 'POST', '/api/v2/collection/hostile/objects', { objects })
  const seen = await openPage(await browserFor(t), address)
  const clean = async (where: string) => {
    // Leaves payload scripts a moment to run.
    await seen.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 30)))
    const markup = await seen.page.$$eval(
      'script:not([src]), iframe, object, embed, base, marquee, form[action], img:not([alt=""]), svg[onload], a[href^="javascript"], [onerror], [onload], [onclick], style:not([data-vite])',
      (found) => found.map(({ outerHTML }) => outerHTML),
    )
    t.strictSame(markup, [], `${where}: no markup of a payload`)
    t.strictSame(seen.faults, [], `${where}: no script ran`)
  }
  await seen.go('#/collections/hostile/objects')
  await seen.sees(payloads[0]!)
  await clean('objects')
  const more = await seen.page.$$('button[aria-expanded="false"].link')
  t.ok(more.length > 30, 'long texts are cut')
  for (const button of more) await button.click()
  await seen.page.waitForFunction(() => document.querySelectorAll('.whole-text').length > 30)
  await clean('whole texts')
  await seen.click('Condition')
  await seen.fill('Key', 'text')
  await seen.fill('Value', payloads[3]!)
  await seen.sees('1 matching objects')
  await clean('filter builder')
  for (const payload of payloads) {
    await seen.go(`#/collections/hostile/objects?id=${encodeURIComponent(payload)}`)
    await seen.sees('Save changes')
  }
  await clean('object')
  await seen.go(`#/collections/hostile/search?near=${encodeURIComponent(payloads[0]!)}`)
  await seen.sees('Query plan')
  await seen.fill('Results', '40')
  await seen.click('Search')
  await seen.sees('39 hits')
  await clean('search')
  await seen.tick('v')
  await seen.tick('body')
  await seen.click('Words')
  await seen.fill('Words to find', 'smuggled alert script img onerror')
  await seen.click('Search')
  await seen.sees('40 hits')
  await seen.page.waitForSelector('.hits mark')
  const marked = await seen.page.$$eval('.hits mark', (marks) => marks.map((mark) => mark.innerHTML))
  t.ok(marked.includes('smuggled') && marked.includes('alert'), 'words inside payloads are marked')
  t.ok(
    marked.every((html) => /^\w+$/.test(html)),
    'marks have words only',
  )
  await clean('highlights')
  await seen.click('As code')
  for (const language of ['curl', 'TypeScript', 'Python']) await seen.click(language)
  await seen.click('Close')
  for (const payload of payloads.slice(0, 8)) {
    await seen.go(`#/${encodeURIComponent(payload)}`)
    await seen.sees('Page not found')
    t.notMatch(seen.page.url(), /^javascript/)
  }
  await clean('addresses')
  await seen.go('#/log')
  await seen.sees('Nearby events')
  await seen.sees('40 objects written')
  await seen.sees(payloads[0]!)
  await clean('log')
  await seen.go('#/console?path=%2Fapi%2Fv2%2Fcollection%2Fhostile%2Fobjects%2Fscroll&method=POST')
  await seen.click('Send')
  await seen.sees('200')
  await clean('console')
  await seen.picture('hostile')
})
