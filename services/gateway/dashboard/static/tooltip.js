// Tooltips open by CSS on hover and focus: .tip with a [role=tooltip] inside. Escape closes the open ones.

/** Listen to Escape; a closed tooltip opens again once pointer and focus have left it. */
export function startTooltips() {
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    document.querySelectorAll(".tip:is(:hover, :focus, :focus-within)").forEach((tip) => {
      tip.dataset.dismissed = "";
    });
  });
  for (const event of ["pointerout", "focusout"]) {
    document.addEventListener(event, ({ target, relatedTarget }) => {
      const tip = target.closest?.(".tip");
      if (tip && !tip.contains(relatedTarget)) delete tip.dataset.dismissed;
    });
  }
}
