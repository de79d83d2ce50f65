// One page for tests that need none of their own: to open a window costs more than most of them. What fails leaves it to nobody.

import { test as base, type Page } from '@playwright/test'

let kept: Page | null = null

export const test = base.extend({
  page: async ({ browser }, use, info) => {
    const page = kept ?? await (await browser.newContext()).newPage()
    kept = null
    await use(page)
    if (info.status === info.expectedStatus) kept = page
    else await page.context().close()
  },
})
