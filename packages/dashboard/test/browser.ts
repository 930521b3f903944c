// Headless Chromium that is installed on the machine, and pages in it that remember whatever should not have happened.
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import type { Test } from 'tap'

const candidates = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const executable = candidates.find((file) => file !== undefined && existsSync(file))
const built = existsSync(new URL('../dist/index.html', import.meta.url))

/** Why tests in a browser cannot run here, false when they can. */
export const skip =
  executable === undefined ? 'no Chromium is installed' : built ? false : 'the dashboard is not built: npm run build'

const run = fileURLToPath(new URL('../run/', import.meta.url))
/** Long, since machines that test are busy; nothing waits longer than it must. */
const settleMs = 30_000

export interface Watched {
  readonly page: Page
  /** Errors in the console and of scripts, dialogs, requests to other hosts. */
  readonly faults: string[]
  /** Clicks the button of that accessible name, once it can be clicked. */
  click(name: string): Promise<void>
  /** The same of a link. */
  follow(name: string): Promise<void>
  /** The same of a box to tick. */
  tick(name: string): Promise<void>
  /** Types into the field of that label, instead of what is in it. */
  fill(label: string, text: string): Promise<void>
  /** Waits until the page says so. */
  sees(text: string): Promise<void>
  go(hash: string): Promise<void>
  picture(name: string): Promise<void>
  /** What axe finds serious or critical. */
  barriers(): Promise<string[]>
}

/** `names` are hosts that resolve to this machine, as if an attacker's name server said so. */
export async function browserFor(t: Test, names: readonly string[] = []): Promise<Browser> {
  const browser = await puppeteer.launch({
    executablePath: executable!,
    // Containers rarely allow the sandbox, and nothing but our own page is opened.
    args: [
      ...['--no-sandbox', '--disable-dev-shm-usage'],
      `--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`,
    ],
  })
  t.teardown(() => browser.close())
  await mkdir(run, { recursive: true })
  return browser
}

export interface View {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  /** Failed requests that are part of what is tested; the browser writes them into its console. */
  readonly expectedStatus?: number | readonly number[]
  /** Folder that takes downloads. */
  readonly downloads?: string
}

export async function openPage(browser: Browser, address: string, view: View = {}): Promise<Watched> {
  // A context of its own: nothing is remembered from one page to the next.
  const { downloads } = view
  const context = await browser.createBrowserContext(
    downloads === undefined ? {} : { downloadBehavior: { policy: 'allow', downloadPath: downloads } },
  )
  const page = await context.newPage()
  const faults = watch(page, address, [view.expectedStatus ?? []].flat())
  await page.setViewport({ width: view.width ?? 1_280, height: view.height ?? 860 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: view.theme ?? 'light' }])
  page.setDefaultTimeout(settleMs)
  await page.goto(address)
  const named = (name: string, role?: string) =>
    `::-p-aria([name="${name.replaceAll('"', '\\"')}"]${role === undefined ? '' : `[role="${role}"]`})`
  const picture = async (name: string) => {
    await page.screenshot({ path: path.join(run, `${name}.png`) as `${string}.png` })
  }
  /** What was tried and did not go is named, and seen in a picture. */
  const trying = async (what: string, work: Promise<unknown>): Promise<void> => {
    try {
      await work
    } catch (error) {
      await picture('failed')
      throw new Error(`${what}: see failed.png`, { cause: error })
    }
  }
  return {
    page,
    faults,
    picture,
    click: (name) => trying(`click ${name}`, page.locator(named(name, 'button')).click()),
    follow: (name) => trying(`follow ${name}`, page.locator(named(name, 'link')).click()),
    tick: (name) => trying(`tick ${name}`, page.locator(named(name, 'checkbox')).click()),
    fill: (label, text) => trying(`fill ${label}`, page.locator(named(label)).fill(text)),
    sees(text) {
      const told = page.waitForFunction((wanted) => document.body.textContent.includes(wanted), {}, text)
      return trying(`see ${text}`, told)
    },
    async go(hash) {
      await page.evaluate((to) => {
        location.hash = to
      }, hash)
    },
    barriers: () => barriersOn(page),
  }
}

function watch(page: Page, address: string, expectedStatus: readonly number[]): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    const expected = expectedStatus.some((status) => message.text().includes(`status of ${status}`))
    if (message.type() === 'error' && !expected)
      faults.push(`console: ${message.text()} ${message.location().url ?? ''}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${String(error)}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== address && protocol !== 'data:' && protocol !== 'blob:') faults.push(`foreign: ${request.url()}`)
  })
  return faults
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

async function barriersOn(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axe, 'utf8'))
  const violations = await page.evaluate(async () => {
    const { violations } = await (
      window as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } }
    ).axe.run()
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  })
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help} (${nodes
        .map(({ html }) => html)
        .slice(0, 3)
        .join(' ')})`,
  )
}

interface AxeViolation {
  readonly id: string
  readonly impact: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}
