// Keyboard-only use, and the pages that are shown while the server is not available.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { realServer } from './real-server.ts'

test('a collection is created with the keyboard alone', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.sees('No collections yet')
  const { keyboard } = seen.page
  const focused = () => seen.page.evaluate(() => document.activeElement?.textContent ?? '')
  await keyboard.press('Tab')
  t.match(await focused(), 'Skip to content')
  await keyboard.press('Enter')
  await keyboard.press('Tab')
  t.match(await focused(), 'New collection')
  await keyboard.press('Enter')
  await seen.sees('Create collection')
  await keyboard.type('typed')
  await keyboard.press('Escape')
  await seen.page.waitForFunction(() => document.querySelector('dialog') === null)
  await seen.go('#/collections?new=1')
  await seen.page.waitForSelector('dialog')
  await keyboard.type('typed')
  await keyboard.press('Enter')
  await seen.sees('Collection typed created.')
  t.strictSame(seen.faults, [])
})

test('the page shows the progress of a starting server and retries a server that does not respond', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 503 })
  await seen.sees('No collections yet')
  // A small directory starts too fast, so the test replaces the server's replies.
  let state: 'starting' | 'gone' | 'back' = 'starting'
  await seen.page.setRequestInterception(true)
  seen.page.on('request', (request) => {
    if (state === 'back' || !request.url().endsWith('/api/v2/health')) void request.continue()
    else if (state === 'gone') void request.abort()
    else {
      const progress = { job: 'replay', done: 300, total: 1_000, unit: 'records' }
      void request.respond({
        status: 503,
        contentType: 'application/json',
        body: JSON.stringify({ status: 'starting', progress }),
      })
    }
  })
  await seen.page.reload()
  await seen.sees('Replaying the log: 300 of 1,000 records')
  await seen.picture('starting')
  state = 'gone'
  await seen.sees('The server does not respond')
  state = 'back'
  await seen.sees('No collections yet')
  const other = seen.faults.filter((fault) => !fault.includes('ERR_FAILED'))
  t.strictSame(other, [])
})
