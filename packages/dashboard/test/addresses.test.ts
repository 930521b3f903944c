// Addresses: every page opens from its address, also one that a person mistyped, and the back button returns to the page before.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realServer } from './real-server.ts'

/** What a path cannot hold as it is. */
const ids = ['a b', '50%', '%41', 'a/b?c#d', 'x&id=y', 'ä+ö', '..'] as const

/** An address, a text on its page, and the links of the navigation that are marked as current. */
const addresses = [
  ['', 'New collection', []],
  ['#', 'New collection', []],
  ['#/', 'New collection', []],
  ['#collections', 'New collection', ['Collections']],
  ['#/collections/', 'New collection', ['Collections']],
  ['#//collections//shop', 'Recall check', ['shop']],
  ['#/collections/shop/overview', 'Recall check', ['shop']],
  ['#/collections/shop/objects/more', 'Delete matching…', ['shop']],
  ['#/collections/shop/search?near=a%20b', 'Query plan', ['shop']],
  ['#/collections/shop/map', 'Draw', ['shop']],
  ['#/collections/shop/elsewhere', 'Tab not found', ['shop']],
  ['#/backups', 'New backup', ['Backups']],
  ['#/log?collection=shop', 'Nearby events', ['Log and time']],
  ['#/operations', 'NDD_TOP_K_MAX', ['Operations']],
  ['#/console?path=/api/v2/stats', 'No reply yet', ['Console']],
  ['#/nowhere', 'Page not found', []],
  ['#/%E0%A4%A', 'Page not found', []],
] as const

test('addresses, in a browser and with a server that their tests share', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeShop(address)
  const browser = await browserFor(t)

  await t.test('every address opens its page, in a new tab and from another page', async (t) => {
    const seen = await openPage(browser, address)
    const current = () =>
      seen.page.$$eval('nav[aria-label=Main] [aria-current=page]', (found) =>
        found.map((link) => link.querySelector('.name')?.textContent ?? link.textContent?.trim()),
      )
    for (const [hash, text, links] of addresses) {
      await seen.page.goto('about:blank')
      await seen.page.goto(`${address}/${hash}`)
      await seen.sees(text)
      t.strictSame(await current(), links, `${hash}: the current links`)
      t.equal(await seen.page.evaluate(() => location.pathname + location.search), '/', `${hash} stays after the #`)
    }
    for (const [hash, text] of addresses.filter((_, i) => i % 3 === 2)) {
      await seen.go(hash)
      await seen.sees(text)
    }
    t.strictSame(seen.faults, [])
  })

  await t.test('ids of every kind survive in an address', async (t) => {
    const seen = await openPage(browser, address)
    for (const id of ids) {
      await seen.go(`#/collections/shop/objects?${new URLSearchParams({ id })}`)
      await seen.page.waitForFunction(
        (wanted) => document.querySelector('dialog h2')?.textContent?.includes(wanted),
        {},
        id,
      )
      await seen.sees('Save changes')
      await seen.click('Search near this')
      await seen.sees('Query plan')
      t.equal(await seen.page.$eval('input[placeholder="object id"]', (input) => (input as HTMLInputElement).value), id)
    }
    t.strictSame(seen.faults, [])
  })

  await t.test('back and forward walk through the pages that were visited', async (t) => {
    const seen = await openPage(browser, address)
    // The title follows the page in a turn of its own.
    const titled = (title: string) => seen.page.waitForFunction((wanted) => document.title === wanted, {}, title)
    await seen.follow('Backups')
    await seen.sees('New backup')
    await seen.go('#/collections/shop')
    await seen.sees('Recall check')
    await seen.follow('Objects')
    await seen.sees('Delete matching…')
    await titled('collections · shop · objects — Annal')
    await seen.page.goBack()
    await seen.sees('Recall check')
    await titled('collections · shop — Annal')
    await seen.page.goBack()
    await seen.sees('New backup')
    await seen.page.goForward()
    await seen.sees('Recall check')
    await seen.page.reload()
    await seen.sees('Recall check')
    // A search near an object replaces its address, so that back leaves the search page.
    await seen.go('#/collections/shop/search?near=a%20b')
    await seen.sees('Query plan')
    await seen.page.waitForFunction(() => location.hash === '#/collections/shop/search')
    await seen.page.goBack()
    await seen.sees('Recall check')
    t.strictSame(seen.faults, [])
  })
})

async function makeShop(address: string): Promise<void> {
  const params = { dimension: 4, space_type: 'l2', precision: 'float32' }
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'shop',
    fields: [{ name: 'v', type: 'vector', params }],
  })
  const objects = ids.map((id, i) => ({ id, fields: { v: [i, 1, 2, 3] } }))
  await callServer(address, 'POST', '/api/v2/collection/shop/objects', { objects })
}
