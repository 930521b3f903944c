// The site builds without a network, all of its links have targets, every guide is in its menu, and in a browser its search finds pages and the
// programs of docs/try.md run.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { realServer } from '../../packages/client/test/real-server.ts'
import { lookAtSite } from '../scripts/site-links.ts'
import { listVersions } from '../scripts/versions.ts'
import { openBrowser, serveSite, skipBrowser } from './site-in-a-browser.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))
const build = path.join(docs, 'scripts/build.ts')
const site = path.join(docs, '.vitepress/dist')

// A loaded machine is slow.
tap.setTimeout(900_000)

test('every page is built, every link and anchor has a target, and no page loads from another host', {
  timeout: 800_000,
}, async (t) => {
  const args = ['--conditions=annal-source', build]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
  const [, pages, links, faults] = /docs: (\d+) pages, (\d+) links, (\d+) faults/.exec(stdout) ?? []
  t.equal(faults, '0')
  t.ok(Number(pages) > 50, `${pages} pages`)
  t.ok(Number(links) > 1_000, `${links} links`)
})

test('every guide is in the menu, and every page has the mark', async (t) => {
  const home = readFileSync(path.join(site, 'guide/quick-start.html'), 'utf8')
  const guides = readdirSync(path.join(docs, 'guide')).map((name) => name.replace(/(index)?\.md$/, ''))
  t.strictSame(
    guides.filter((name) => !new RegExp(`href="/guide/${name}(\\.html)?"`).test(home)),
    [],
  )
  t.match(home, /<link rel="icon" type="image\/svg\+xml" href="\/mark\.svg">/)
  t.match(readFileSync(path.join(site, 'mark.svg'), 'utf8'), /<svg/)
})

test('links of a site below a version are checked below it', (t) => {
  const dir = t.testdir({
    '1.2.0': {
      'index.html': '<a href="/1.2.0/guide/a">a</a> <a href="/guide/a">outside</a> <img src="/1.2.0/none.svg">',
      guide: { 'a.html': '<a href="../">home</a>' },
    },
  })
  const { faults, links } = lookAtSite(path.join(dir, '1.2.0'), '/1.2.0/')
  t.equal(links, 3)
  t.strictSame(faults, ['index.html: loads /1.2.0/none.svg, which is not there', 'index.html: /guide/a leads nowhere'])
  t.end()
})

test('a folder of versions lists the newest first and leads to it', (t) => {
  const dir = t.testdir({ '0.9.0': {}, '0.10.1': {}, '0.10.0': {}, assets: {} })
  listVersions(dir)
  t.strictSame(JSON.parse(readFileSync(path.join(dir, 'versions.json'), 'utf8')), {
    versions: ['0.10.1', '0.10.0', '0.9.0'],
  })
  t.match(readFileSync(path.join(dir, 'index.html'), 'utf8'), 'url=./0.10.1/')
  t.end()
})

test('in a browser, the search finds pages and the programs run on the server of the reader', {
  skip: skipBrowser,
  timeout: 300_000,
}, async (t) => {
  const origin = await serveSite(t, site)
  const server = await realServer(t, {
    token: 'secret-of-the-reader',
    environment: { NDD_CORS_ORIGINS: origin },
  })
  const page = await (await openBrowser(t)).newPage()
  page.setDefaultTimeout(120_000)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    const { origin: other, protocol } = new URL(request.url())
    if (![origin, server].includes(other) && protocol !== 'data:' && protocol !== 'blob:') faults.push(request.url())
  })

  await page.goto(`${origin}/guide/quick-start`)
  const { version } = JSON.parse(readFileSync(path.join(docs, 'package.json'), 'utf8'))
  t.equal(await (await page.waitForSelector('.version-menu'))!.evaluate((menu) => menu.textContent), version)
  await page.locator('.VPNavBarSearch button').click()
  await page.locator('.VPLocalSearchBox input').fill('undo')
  await page.waitForSelector('.VPLocalSearchBox .result[href*="history"]')

  await page.goto(`${origin}/try`)
  const output = () => page.$eval('.try-output', (element) => element.textContent)
  await page.locator('.try-fields input[type=url]').fill(server)
  t.match(await page.$eval('.try-command', (element) => element.textContent), `NDD_CORS_ORIGINS=${origin} npm start`)
  const run = async () => {
    await page.locator('.try-it button').click()
    await page.waitForFunction(
      `document.querySelector('.try-output').textContent !== '' && !document.querySelector('.try-it button').disabled`,
    )
    return output()
  }
  t.match(await run(), /Authorization header required/, 'an error is shown')
  await page.locator('.try-fields input[type=password]').fill('secret-of-the-reader')
  t.match(await run(), /^mon \d\.\d\d\ntue \d\.\d\d\n$/)
  await page.select('.try-fields select', 'Time')
  t.match(await run(), /^now: solaris\nas of record \d+: alien\nafter the undo: alien\n$/)
  await page.select('.try-fields select', 'Filters')
  t.match(await run(), /^\["point-\d+","point-\d+","point-\d+"\]\n$/)
  await page.locator('.try-it textarea').fill("import { connect } from '@annal/client'\nconsole.log(typeof connect)")
  t.equal(await run(), 'function\n', 'the reader can edit the program')
  t.strictSame(faults, [])
})

test('a site below its version shows a menu of the others', {
  skip: process.env.ANNAL_LONG ? skipBrowser : 'builds the site once more; set ANNAL_LONG=1',
  timeout: 800_000,
}, async (t) => {
  const out = t.testdir({ '0.0.9': { 'index.html': '<!doctype html><title>Old</title><p>the old version</p>' } })
  const args = ['--conditions=annal-source', build, '--versioned', '--out', out]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
  t.match(stdout, /, 0 faults/)
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${await serveSite(t, out)}/`)
  const menu = 'select.version-menu'
  await page.waitForSelector(menu)
  const { version } = JSON.parse(readFileSync(path.join(docs, 'package.json'), 'utf8'))
  t.strictSame(await page.$$eval(`${menu} option`, (options) => options.map((option) => option.value)), [
    version,
    '0.0.9',
  ])
  await page.select(menu, '0.0.9')
  await page.waitForFunction(`document.body.textContent.includes('the old version')`)
})
