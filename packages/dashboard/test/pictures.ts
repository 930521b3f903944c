// Compares two PNG files in a page, which decodes them.
import type { Page } from 'puppeteer-core'

/** In levels of 255: less is the rounding of a blend. */
const levelsMax = 12

/** The share of pixels in which two pictures differ; 1 if their sizes do. */
export function differingShare(page: Page, a: Uint8Array, b: Uint8Array): Promise<number> {
  const [first, second] = [a, b].map((picture) => Buffer.from(picture).toString('base64'))
  return page.evaluate(
    async (first, second, levelsMax) => {
      const pixels = async (data: string) => {
        const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!
        context.drawImage(image, 0, 0)
        return context.getImageData(0, 0, image.width, image.height)
      }
      const [x, y] = [await pixels(first), await pixels(second)]
      if (x.width !== y.width || x.height !== y.height) return 1
      let differing = 0
      for (let at = 0; at < x.data.length; at += 4) {
        const levels = Math.max(...[0, 1, 2].map((part) => Math.abs(x.data[at + part]! - y.data[at + part]!)))
        if (levels > levelsMax) differing += 1
      }
      return differing / (x.width * x.height)
    },
    first!,
    second!,
    levelsMax,
  )
}
