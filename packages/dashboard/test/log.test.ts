// Log and time: what happened is drawn and told, any moment is reached with the slider, and what was deleted comes back.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { ask, realServer } from './real-server.ts'
import { submit } from './steps.ts'

interface Told {
  readonly events: readonly { readonly lsn: number; readonly type: string }[]
}

test('a moment is found with the slider and the keyboard, and a deleted collection restored to it', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  await ask(address, 'DELETE', '/api/v2/collection/articles/objects/article-7')
  await ask(address, 'DELETE', '/api/v2/collection/articles')
  const { events } = (await ask(address, 'GET', '/api/v2/log/events')) as Told
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/log')
  await seen.sees('collection deleted')
  await seen.sees('40 objects written')
  await seen.sees('Every moment from the first record can be restored.')
  await seen.sees('NDD_ARCHIVE_HOURS=24')
  await seen.click('Events')
  await seen.click('Bytes')
  await seen.click('Objects')
  t.ok((await seen.page.$$('.activity rect.tone')).length > 0, 'bars are drawn')

  const slider = (await seen.page.waitForSelector('input[type=range]'))!
  await slider.focus()
  await seen.page.keyboard.press('Home')
  await seen.sees(`As of LSN ${events[0]?.lsn}`)
  await seen.sees('collection created with embedding, text, passages')
  const written = events.find(({ type }) => type === 'objects-upserted')!
  await seen.fill('LSN', String(written.lsn))
  await seen.sees(`As of LSN ${written.lsn}`)
  await seen.sees('and 30 more')
  await seen.picture('log-event')

  await seen.click('Restore to here…')
  await seen.sees('Name of the new collection')
  await seen.picture('log-restore')
  t.strictSame(await seen.barriers(), [])
  await submit(seen, { 'Name of the new collection': 'articles_back' }, 'Restore', 'Restored as articles_back.')
  t.match(await ask(address, 'GET', '/api/v2/collection/articles_back'), { total_elements: 40 })

  await seen.go('#/log?collection=articles_back')
  await seen.sees('collection restored')
  await seen.click('Time')
  await seen.page.waitForSelector('input[type=range][aria-label="Time"]')
  t.strictSame(await seen.barriers(), [])
  await seen.picture('log-time')
  t.strictSame(seen.faults, [])
})
