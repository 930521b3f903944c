// Every page against the real server, in light, and in dark at phone size, without errors, foreign requests or accessibility barriers.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles, makeStories } from './fixture.ts'
import { realServer } from './real-server.ts'

/** An address, and a text that the page shows once it is ready. */
const pages = [
  ['collections', '#/collections', 'New collection'],
  ['create', '#/collections?new=1', 'Create collection'],
  ['texts', '#/texts', 'Load the sample'],
  ['words', '#/texts?collection=stories', 'Words to find'],
  ['text-search', '#/collections/stories/search', 'Any word'],
  ['text-objects', '#/collections/stories/objects', 'A story of the sea'],
  ['text-object', '#/collections/stories/objects?id=story-1', 'Text of body'],
  ['text-overview', '#/collections/stories', 'language english'],
  ['overview', '#/collections/articles', 'Recall check'],
  ['search', '#/collections/articles/search?near=article-3', 'Query plan'],
  ['objects', '#/collections/articles/objects', 'article-5'],
  ['object', '#/collections/articles/objects?id=article-5', 'Save changes'],
  ['history', '#/collections/articles/objects?id=article-5&view=history', 'LSN'],
  ['past', '#/collections/articles/search?as_of=now', 'No search yet'],
  ['judging', '#/collections/articles/judging', 'No judgment yet'],
  ['branches', '#/collections/articles/branches', 'No aliases yet'],
  ['changes', '#/changes', 'No changes yet'],
  ['map', '#/collections/articles/map?walk=article-3', 'is linked to'],
  ['backups', '#/backups', 'No backups yet'],
  ['log', '#/log', 'Nearby events'],
  ['operations', '#/operations', 'NDD_TOP_K_MAX'],
  ['console', '#/console', 'No reply yet'],
  ['nowhere', '#/nowhere', 'Page not found'],
] as const

const views = [
  ['light', { theme: 'light' }],
  ['phone', { theme: 'dark', width: 390, height: 844 }],
] as const

test('every page is drawn, without errors, foreign requests or barriers', { skip, timeout: 240_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address)
  await makeStories(address)
  const browser = await browserFor(t)
  for (const [look, view] of views) {
    const seen = await openPage(browser, address, view)
    for (const [name, hash, text] of pages) {
      await seen.go(hash)
      await seen.sees(text)
      await seen.picture(`${name}-${look}`)
      t.strictSame(await seen.barriers(), [], `${name}, ${look}: no accessibility barriers`)
      if (look === 'phone') {
        const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
        t.ok(wide <= 390, `${name} fits the phone (${wide})`)
      }
    }
    t.strictSame(seen.faults, [], look)
  }
})
