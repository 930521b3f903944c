// The page of a collection measures recall by ef, draws it, and sets the default recall of a field.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'

interface Described {
  readonly fields: readonly { readonly name: string; readonly params: { readonly recall?: number } }[]
}

test('a field is measured, its curve is drawn, and its default is set', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address)
  const recall = async () => {
    const { fields } = (await callServer(address, 'GET', '/api/v2/collection/articles')) as Described
    return fields.find(({ name }) => name === 'embedding')?.params.recall
  }
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/articles')
  await seen.sees('Recall by ef')
  await seen.click('Measure curve')
  await seen.sees('Smallest measured ef for a recall')
  await seen.sees('queries made of stored vectors, 300 vectors')
  const lines = await seen.page.$$eval('.recall-curve polyline', (found) =>
    found.map((line) => (line.getAttribute('points') ?? '').split(' ').length),
  )
  t.equal(lines.length, 4, 'a curve for each share')
  t.ok(
    lines.every((points) => points >= 1),
    `${lines}`,
  )
  const rows = await seen.page.$$eval('section table.tight tbody tr', (found) => found.map((row) => row.textContent))
  t.match(rows, [/no filter/, /48 % match/, /10 % match/, /1 % match/])
  await seen.fill('Default recall', '0.97')
  await seen.click('Save default')
  await seen.sees('Searches reach a recall of 0.97 by default.')
  t.equal(await recall(), 0.97)
  await seen.picture('stated-recall')
  t.strictSame(await seen.barriers(), [])
  const input = await seen.page.waitForSelector('::-p-aria([name="Default recall"])')
  await input?.click({ count: 3 })
  await seen.page.keyboard.press('Backspace')
  await seen.click('Save default')
  await seen.sees('Searches use ef 128 by default.')
  t.equal(await recall(), undefined)
  t.strictSame(seen.faults, [])
})
