// Pages as they look, compared with committed pictures: one font, fixed data, and a fixed time. `ANNAL_RENEW_PICTURES=1` renews the pictures.
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'puppeteer-core'
import { type Test, test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { differingShare } from './pictures.ts'
import { callServer, realServer } from './real-server.ts'
import { makeShop } from './shop.ts'
import { freezeReplies } from './still-page.ts'

const folder = fileURLToPath(new URL('./pictures/', import.meta.url))
const renew = process.env.ANNAL_RENEW_PICTURES === '1'
/** The share of pixels that may differ. */
const shareMax = 0.005
const bytesMax = 2 * 2 ** 20
const stillMs = 500

/** A page, and what it shows once it is complete. */
const pages = [
  ['collections', '#/collections', '.page table'],
  ['collection', '#/collections/shop', '.shares'],
  ['search', '#/collections/shop/search?near=item-007', '.hits'],
  ['map', '#/collections/shop/map', '.map-legend'],
  ['log', '#/log', '.events'],
  ['backups', '#/backups', '.page table'],
] as const

const views = [
  { width: 1_440, height: 900, theme: 'light' },
  { width: 1_024, height: 768, theme: 'dark' },
  { width: 390, height: 844, theme: 'light' },
] as const

const font = fontFile()

function fontFile(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    return require.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')
  } catch {
    return undefined
  }
}

/** The Chromium that made the pictures. Another one draws letters and lines differently. */
const versionFile = path.join(folder, 'chromium.txt')
const madeBy = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : undefined

test('pages look like their committed pictures', { skip: skip || noFont(), timeout: 240_000 }, async (t) => {
  const address = await realServer(t, { NDD_ARCHIVE_HOURS: '24' })
  const browser = await browserFor(t, [], drawing)
  const version = await browser.version()
  if (!renew && version !== madeBy) {
    t.pass(`skipped: the pictures were made by ${madeBy ?? 'nobody'}, and this is ${version}`, {
      skip: `the pictures were made by ${madeBy}, and this is ${version}`,
    })
    return
  }
  await makeShop(address)
  await backUp(address)
  await mkdir(folder, { recursive: true })
  for (const view of views) {
    const seen = await openStill(browser, address, view)
    for (const [name, hash, selector] of pages) {
      const picture = await pictureOf(seen, hash, selector)
      await compare(t, seen.page, `${name}-${view.width}`, picture)
    }
    t.strictSame(seen.faults, [], String(view.width))
    await seen.page.close()
  }
  if (renew) await writeFile(versionFile, `${version}\n`)
  t.ok((await bytesIn(folder)) <= bytesMax, 'the pictures are small')
})

/** What makes drawing the same on every machine. */
const drawing = [
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--force-color-profile=srgb',
  '--force-device-scale-factor=1',
  '--hide-scrollbars',
]

function noFont(): string | false {
  return font === undefined ? 'the font of the pictures is not installed' : false
}

async function openStill(browser: Browser, address: string, view: (typeof views)[number]): Promise<Watched> {
  const seen = await openPage(browser, address, view)
  const { page } = seen
  await page.setBypassCSP(true)
  await page.emulateTimezone('UTC')
  await page.evaluateOnNewDocument(freezeReplies)
  await page.reload()
  const data = (await readFile(font!)).toString('base64')
  await page.addStyleTag({
    content: `@font-face { font-family: Still; font-weight: 100 900; src: url(data:font/woff2;base64,${data}) }
      * { font-family: Still !important; font-feature-settings: normal !important; transition: none !important;
          animation: none !important; caret-color: transparent !important }`,
  })
  await page.evaluate(() => document.fonts.load('16px Still').then(() => undefined))
  return seen
}

async function pictureOf({ page, go, sees }: Watched, hash: string, selector: string): Promise<Uint8Array> {
  await go(hash)
  await page.waitForSelector(selector)
  await page.waitForFunction(() => document.querySelector('.skeleton, main [role=progressbar]') === null)
  if (hash.endsWith('/map')) await sees('Drawn')
  await page.evaluate(untilStill, stillMs)
  return page.screenshot({ optimizeForSpeed: false })
}

/** In the page: until nothing has changed for a while. */
function untilStill(stillMs: number): Promise<void> {
  return new Promise((done) => {
    let timer = setTimeout(done, stillMs)
    new MutationObserver(() => {
      clearTimeout(timer)
      timer = setTimeout(done, stillMs)
    }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })
  })
}

async function compare(t: Test, page: Page, name: string, picture: Uint8Array): Promise<void> {
  const file = path.join(folder, `${name}.png`)
  if (renew) {
    const before = existsSync(file) ? await readFile(file) : undefined
    const share = before === undefined ? 1 : await differingShare(page, before, picture)
    // A picture that still fits stays, so that renewing changes what changed.
    if (share > 0) await writeFile(file, picture)
    return
  }
  const share = await differingShare(page, await readFile(file), picture)
  if (share > shareMax) await writeFile(path.join(folder, '../../run', `${name}-now.png`), picture)
  t.ok(share <= shareMax, `${name}: ${(100 * share).toFixed(2)} % of the pixels differ`)
}

async function backUp(address: string): Promise<void> {
  await callServer(address, 'POST', '/api/v2/collection/shop/backup', { name: 'shop-before-the-sale' })
  for (;;) {
    const { status } = (await callServer(address, 'GET', '/api/v2/status/backup')) as { readonly status: string }
    if (status === 'completed') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function bytesIn(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(path.join(folder, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
