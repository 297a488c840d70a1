// What a destination suggests for its link: puts it into its field. Loaded when it is first used.

import { gettext, toast } from "./app.js";

const NAMES = { "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp" };

// a picture becomes the file of its control: it shows in the preview, and is sent as any chosen file is
async function fileOf(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.status);
  const content = await answer.blob();
  return new File([content], `picture.${NAMES[content.type] ?? "png"}`, { type: content.type });
}

async function fill(field, { source, value }) {
  if (!source) {
    field.value = value;
    return;
  }
  const files = new DataTransfer();
  files.items.add(await fileOf(source));
  field.files = files.files;
}

export async function use(button) {
  const field = button.form.elements[button.dataset.use];
  try {
    await fill(field, button.dataset);
  } catch {
    toast(gettext("The picture is not there any more. Fetch it from the destination again."), "bad");
    return;
  }
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
  button.lastElementChild.textContent = button.dataset.used;
}
