// Texts that change the direction of what stands next to them, and the check that on a page they do not.
import type { Watched } from './browser.ts'

const [rlo, lro, rli, fsi, pdf, pdi] = ['\u202e', '\u202d', '\u2067', '\u2068', '\u202c', '\u2069']

/** Every text has `zq` and its number, by which the check finds it, and something that an unguarded page would be reordered by. */
const forms: readonly ((mark: string) => string)[] = [
  (mark) => `${mark} ${rlo}gpj.exe`,
  (mark) => `${rli}${mark} never closed`,
  (mark) => `${pdi}${pdi}${mark}${rlo} closes what it did not open`,
  (mark) => `${lro}${mark}${rlo}${rli}${fsi} nested`,
  (mark) => `ספר ${mark} עברית (1)`,
  (mark) => `${mark} عنوان 42`,
  (mark) => `${pdf}${mark}\u2029${rlo}line`,
  (mark) => `\u061c\u200f${mark}\u0007${rlo}`,
]

let made = 0

/** The next text, of another form than the one before. */
export function nextText(): string {
  made += 1
  return forms[made % forms.length]!(`zq${made}`)
}

/** What is wrong with the places where the page shows such texts, and in how many places it shows one. */
export async function reordered(seen: Watched): Promise<{ readonly faults: string[]; readonly shown: number }> {
  return seen.page.evaluate(() => {
    const control = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
    const mark = /zq\d/
    const faults: string[] = []
    const isolates = (element: Element): boolean => {
      const { unicodeBidi, display } = getComputedStyle(element)
      return /isolate|plaintext/.test(unicodeBidi) || !display.startsWith('inline') || display !== 'inline'
    }
    const isolateOf = (node: Node): Element => {
      let element = node.parentElement!
      while (!isolates(element)) element = element.parentElement!
      return element
    }
    /** The text of the page without the stored texts in it, which are in elements of their own. */
    const wordsOf = (element: Element, own: Element): string => {
      const copies = [...element.childNodes].map((node) => {
        if (node === own || !(node instanceof Element)) return node === own ? '' : (node.textContent ?? '')
        return isolates(node) ? '' : wordsOf(node, own)
      })
      return copies.join('')
    }
    const nodes: Text[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const range = document.createRange()
      range.selectNodeContents(node)
      const skipped = node.parentElement!.closest('textarea, option, script, style, .visually-hidden')
      if (skipped === null && range.getClientRects().length > 0) nodes.push(node as Text)
    }
    const stored = nodes.filter((node) => mark.test(node.data))
    for (const node of stored) {
      const isolate = isolateOf(node)
      const text = isolate.textContent ?? ''
      // Either nothing else is in it, or it has no character that could reorder the rest.
      const isAlone = isolate.childNodes.length === 1 || wordsOf(isolate, isolate).trim() === text.trim()
      const marks = text.match(/zq\d+/g) ?? []
      if (control.test(node.data) && (!isAlone || marks.length > 1))
        faults.push(`not alone: ${JSON.stringify(text.slice(0, 80))}`)
    }
    // What stands in a line is in the order of the document.
    const units = new Map<
      Element,
      { readonly top: number; readonly bottom: number; readonly left: number; readonly text: string }[]
    >()
    for (const node of nodes) {
      const isolate = isolateOf(node)
      const isInline = getComputedStyle(isolate).display.startsWith('inline')
      let outer: Element | Text = isInline && mark.test(isolate.textContent ?? '') ? isolate : node
      while (outer instanceof Element && outer.parentElement !== null) {
        const above = isolateOf(outer)
        if (!getComputedStyle(above).display.startsWith('inline') || !above.matches('bdi')) break
        outer = above
      }
      const range = document.createRange()
      range.selectNode(outer)
      const rects = [...range.getClientRects()]
      if (rects.length !== 1) continue
      const { top, bottom, left } = rects[0]!
      let block = node.parentElement!
      while (getComputedStyle(block).display.startsWith('inline')) block = block.parentElement!
      const line = units.get(block) ?? []
      if (line.at(-1)?.left !== left || line.at(-1)?.top !== top)
        line.push({ top, bottom, left, text: outer.textContent ?? '' })
      units.set(block, line)
    }
    for (const line of units.values()) {
      for (const [i, { top, bottom, left, text }] of line.entries()) {
        const before = line[i - 1]
        if (before === undefined || before.bottom <= top || bottom <= before.top) continue
        if (!mark.test(text) && !mark.test(before.text)) continue
        if (before.left > left) faults.push(`out of order: ${JSON.stringify([before.text, text])}`)
      }
    }
    for (const { title, ariaLabel } of document.querySelectorAll<HTMLElement>('[title], [aria-label]')) {
      for (const label of [title, ariaLabel ?? '']) {
        if (mark.test(label) && control.test(label)) faults.push(`label: ${JSON.stringify(label)}`)
      }
    }
    for (const { textContent } of document.querySelectorAll('option')) {
      if (mark.test(textContent) && control.test(textContent)) faults.push(`option: ${JSON.stringify(textContent)}`)
    }
    if (/[\u202a-\u202e\u2066-\u2069]/.test(document.title)) faults.push(`title: ${JSON.stringify(document.title)}`)
    return { faults: [...new Set(faults)], shown: stored.length }
  })
}
