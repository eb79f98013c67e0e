package browser_test

import (
	"context"
	"fmt"

	"github.com/chromedp/chromedp"
)

func goBack() chromedp.Action[chromedp.Void] { return chromedp.NavigateBack() }

func uploadFile(selector, path string) chromedp.Action[chromedp.Void] {
	return chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path})
}

// setValue types a value and leaves the field.
func setValue(selector, value string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const e = document.querySelector(%q); e.focus(); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); e.blur(); }`, selector, value))(ctx, t)
	}
}
