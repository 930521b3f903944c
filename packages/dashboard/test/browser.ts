// An installed headless Chromium, and pages that record errors and other events that must not occur.
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import puppeteer, { type Browser, type ElementHandle, type Page } from 'puppeteer-core'
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

/** Why browser tests cannot run here, or false when they can. */
export const skip =
  executable === undefined ? 'no Chromium is installed' : built ? false : 'the dashboard is not built: npm run build'

const run = fileURLToPath(new URL('../run/', import.meta.url))
/** Long, because test machines are busy; a test waits no longer than necessary. */
const settleMs = 30_000

export interface Watched {
  readonly page: Page
  /** Console and script errors, dialogs, and requests to other hosts. */
  readonly faults: string[]
  /** Clicks the button with this accessible name, once it can be clicked. */
  click(name: string): Promise<void>
  /** Clicks the link with this name. */
  follow(name: string): Promise<void>
  /** Clicks the checkbox with this label. */
  tick(name: string): Promise<void>
  /** Replaces the text of the field with this label. */
  fill(label: string, text: string): Promise<void>
  /** Replaces the text of the field that this selector finds. */
  fillAt(selector: string, text: string): Promise<void>
  /** Selects the option with this value in the list with this label, once the list has it. */
  select(label: string, value: string): Promise<void>
  /** The value of the field with this label, once there is one. */
  valueOf(label: string): Promise<string>
  /** Waits until the page shows the text. */
  sees(text: string): Promise<void>
  go(hash: string): Promise<void>
  picture(name: string): Promise<void>
  /** The findings of axe, of any level. */
  barriers(): Promise<string[]>
}

/** `names` are host names that resolve to this machine, as if an attacker's name server returned it. `flags` go to Chromium. */
export async function browserFor(
  t: Test,
  names: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<Browser> {
  const browser = await puppeteer.launch({
    executablePath: executable!,
    // Containers rarely allow the sandbox, and only our own page is opened.
    args: [
      ...['--no-sandbox', '--disable-dev-shm-usage'],
      `--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`,
      ...flags,
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
  /** Expected request failures, which the browser also writes to its console. */
  readonly expectedStatus?: number | readonly number[]
  /** Folder for downloads. */
  readonly downloads?: string
}

export async function openPage(browser: Browser, address: string, view: View = {}): Promise<Watched> {
  // A new browser context, so that pages share no state.
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
  /** On failure the step is named and a screenshot is taken. */
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
    fill: (label, text) => trying(`fill ${label}`, fillField(page, named(label), text)),
    fillAt: (selector, text) => trying(`fill ${selector}`, fillField(page, selector, text)),
    select: (label, value) => trying(`select ${value} of ${label}`, selectOption(page, named(label), value)),
    async valueOf(label) {
      const field = await page.waitForSelector(named(label))
      return field!.evaluate((element) => (element as HTMLInputElement).value)
    },
    sees(text) {
      const shown = page.waitForFunction((wanted) => document.body.textContent.includes(wanted), {}, text)
      return trying(`see ${text}`, shown)
    },
    async go(hash) {
      await page.evaluate((to) => {
        location.hash = to
      }, hash)
    },
    barriers: () => barriersOn(page),
  }
}

/** Types over the whole text, as a person does: a page that renders after a field was cleared from outside restores the text. */
async function fillField(page: Page, selector: string, text: string): Promise<void> {
  const endMs = performance.now() + settleMs
  for (;;) {
    const field = (await page.waitForSelector(selector, { visible: true })) as ElementHandle<HTMLInputElement>
    const state = await field.evaluate((element) => {
      if (element.disabled || !element.isConnected) return 'not ready'
      const isText = element.localName === 'textarea' || /^(text|search|url|email|password|number)$/.test(element.type)
      if (!isText) return 'other'
      element.focus()
      element.select()
      return document.activeElement === element ? 'selected' : 'not ready'
    })
    if (state === 'other') return page.locator(selector).fill(text)
    if (state === 'selected') break
    if (performance.now() > endMs) throw new Error('the field takes no text')
    await sleep(20)
  }
  if (text === '') await page.keyboard.press('Backspace')
  else await page.keyboard.sendCharacter(text)
}

async function selectOption(page: Page, selector: string, value: string): Promise<void> {
  // The browser names elements some time after it shows them, and options may come later still.
  const list = (await page.waitForSelector(selector)) as ElementHandle<HTMLSelectElement>
  await page.waitForFunction(
    (element, wanted) => [...element.options].some((option) => option.value === wanted),
    {},
    list,
    value,
  )
  await list.select(value)
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
    return violations
  })
  return violations.map(
    ({ id, impact, help, nodes }) =>
      `${id}, ${impact}: ${help} (${nodes
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
