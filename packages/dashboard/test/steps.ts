// Steps that several tests share, by clicking.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { ElementHandle } from 'puppeteer-core'
import type { Test } from 'tap'
import type { Watched } from './browser.ts'

export const root = 'the-root-token-of-the-tests'

/** Fills fields by label, clicks the button, and waits until the page shows the text. */
export async function submit(
  seen: Watched,
  fields: Readonly<Record<string, string>>,
  button: string,
  report: string,
): Promise<void> {
  for (const [label, text] of Object.entries(fields)) await seen.fill(label, text)
  await seen.click(button)
  await seen.sees(report)
}

export async function signIn(seen: Watched, token: string): Promise<void> {
  await seen.fill('Token', token)
  await seen.click('Sign in')
}

export async function startTrial(seen: Watched): Promise<void> {
  await seen.click('Start the trial')
  await seen.sees('The trial is active')
}

/** Chooses a file with this content in the page's, or its dialog's, file input. */
export async function chooseFile(t: Test, seen: Watched, name: string, text: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'annal-chosen-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(path.join(folder, name), text)
  const input = (await seen.page.waitForSelector('input[type=file]')) as ElementHandle<HTMLInputElement>
  await input.uploadFile(path.join(folder, name))
}

/** The opaque colors on the first canvas of the page, apart from those of lines and text, which cover little. */
export function paintedColors(seen: Watched, pixelsMin = 12): Promise<string[]> {
  return seen.page.$eval(
    'canvas',
    (canvas, least) => {
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
      const found = new Map<string, number>()
      for (let i = 0; i < data.length; i += 4) {
        const color = `${data[i]},${data[i + 1]},${data[i + 2]}`
        if (data[i + 3] === 255) found.set(color, (found.get(color) ?? 0) + 1)
      }
      return [...found].filter(([, pixels]) => pixels >= least).map(([color]) => color)
    },
    pixelsMin,
  )
}
