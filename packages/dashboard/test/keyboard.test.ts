// The keyboard alone, and what is shown while the server cannot be used yet.
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
  t.match(await focused(), 'Skip to the page')
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

test('a server that starts is waited for with its progress, one that is gone is asked again', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 503 })
  await seen.sees('No collections yet')
  // A start that lasts is not to be had from a small directory, so its answers are put in the server's mouth.
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
  await seen.sees('The server does not answer')
  state = 'back'
  await seen.sees('No collections yet')
  const other = seen.faults.filter((fault) => !fault.includes('ERR_FAILED'))
  t.strictSame(other, [])
})
