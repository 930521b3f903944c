// Checks the built site: every link and every anchor has a target in it, and no page makes a browser contact another host.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export interface SiteReport {
  readonly pages: number
  readonly links: number
  readonly faults: readonly string[]
}

/** `base` is what the addresses of the site begin with, such as `/0.1.0/`. */
export function lookAtSite(site: string, base = '/'): SiteReport {
  const files = readdirSync(site, { recursive: true, encoding: 'utf8' })
  const pages = new Map(
    files.filter((file) => file.endsWith('.html')).map((file) => [file, readFileSync(path.join(site, file), 'utf8')]),
  )
  const anchors = new Map([...pages].map(([file, html]) => [file, anchorsOf(html)]))
  const faults: string[] = []
  let links = 0
  for (const [file, html] of pages) {
    for (const address of loadedBy(html)) {
      if (isElsewhere(address)) faults.push(`${file}: loads ${address}`)
      else if (!existsSync(path.join(site, leadsTo(file, address, base).target)))
        faults.push(`${file}: loads ${address}, which is not there`)
    }
    for (const href of hrefsOf(html)) {
      if (isElsewhere(href)) continue
      links++
      const { target, anchor } = leadsTo(file, href, base)
      if (!existsSync(path.join(site, target))) faults.push(`${file}: ${href} leads nowhere`)
      else if (anchor !== '' && anchors.get(target)?.has(anchor) === false) faults.push(`${file}: no place ${href}`)
    }
  }
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const [foreign] = /url\(["']?(https?:)?\/\/[^)]*\)/.exec(readFileSync(path.join(site, file), 'utf8')) ?? []
    if (foreign !== undefined) faults.push(`${file}: loads ${foreign}`)
  }
  return { pages: pages.size, links, faults: [...new Set(faults)] }
}

function anchorsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => unescaped(id as string)))
}

function loadedBy(html: string): string[] {
  const tags = [...html.matchAll(/<(?:script|img|iframe|source|video|audio)\b[^>]*?\ssrc="([^"]+)"/g)]
  const sheets = [...html.matchAll(/<link\b[^>]*?\shref="([^"]+)"/g)]
  return [...tags, ...sheets].map(([, address]) => address as string)
}

function hrefsOf(html: string): string[] {
  return [...html.matchAll(/<a\b[^>]*?\shref="([^"]+)"/g)].map(([, href]) => unescaped(href as string))
}

function isElsewhere(address: string): boolean {
  return /^([a-z]+:)?\/\//i.test(address) || /^(mailto|data):/i.test(address)
}

function leadsTo(file: string, href: string, base: string): { readonly target: string; readonly anchor: string } {
  const url = new URL(href, `http://site${base}${file}`)
  const pathname = decodeURIComponent(url.pathname)
  // A path outside the base is not a file of the site.
  const target = pathname.startsWith(base) ? pathname.slice(base.length) : `..${pathname}`
  const page = target === '' || target.endsWith('/') ? `${target}index.html` : target
  return { target: path.extname(page) === '' ? `${page}.html` : page, anchor: decodeURIComponent(url.hash.slice(1)) }
}

function unescaped(text: string): string {
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
}
