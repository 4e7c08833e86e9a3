// Opens the pages. Without scripts, the button does.
document.getElementById('licensing-enter')?.submit();
