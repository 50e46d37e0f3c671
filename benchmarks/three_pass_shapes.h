int main() {
    if constexpr (!F64) {
        { Maps m(512, 512, 1);
          rows<512, 8, 1, 2, false, 64>(m, "512"); rows<512, 8, 2, 1, false, 64>(m, "512"); rows<512, 8, 1, 1, false, 64>(m, "512");
          cols<512, 8, 2, false, false, false, 128>(m, "512");
          together(m, "512"); }
        { Maps m(1024, 1024, 1);
          rows<1024, 16, 1, 1, false, 64>(m, "1024"); rows<1024, 16, 2, 1, false, 64>(m, "1024"); rows<1024, 16, 4, 1, false, 64>(m, "1024"); rows<1024, 16, 2, 2, false, 64>(m, "1024");
          cols<1024, 16, 4, false, false, false, 128>(m, "1024");
          together(m, "1024"); }
        { Maps m(2048, 2048, 1);
          rows<2048, 16, 1, 1, false, 64>(m, "2048"); rows<2048, 16, 2, 1, false, 64>(m, "2048"); rows<2048, 16, 4, 1, false, 64>(m, "2048"); rows<2048, 32, 1, 1, false, 128>(m, "2048"); rows<2048, 32, 2, 1, false, 128>(m, "2048");
          cols<2048, 32, 4, false, true, true, 128>(m, "2048"); apart<2048, 32, 2, 128>(m, "2048");
          together(m, "2048"); }
        { Maps m(4096, 4096, 1);
          rows<4096, 16, 1, 1, false, 64>(m, "4096"); rows<4096, 16, 2, 1, false, 64>(m, "4096"); rows<4096, 16, 2, 1, true, 64>(m, "4096"); rows<4096, 32, 2, 1, false, 128>(m, "4096"); rows<4096, 16, 4, 1, true, 64>(m, "4096");
          cols<4096, 32, 4, false, true, true, 128>(m, "4096"); apart<4096, 32, 2, 128>(m, "4096"); apart<4096, 32, 4, 128>(m, "4096");
          together(m, "4096"); }
        { Maps m(8192, 8192, 1);
          rows<8192, 32, 1, 1, false, 128>(m, "8192");
          cols<8192, 32, 2, false, true, true, 128>(m, "8192"); apart<8192, 32, 2, 128>(m, "8192");
          together(m, "8192"); }
    } else {
        { Maps m(512, 512, 1);
          rows<512, 8, 1, 1, false, 80>(m, "512"); rows<512, 8, 2, 1, false, 80>(m, "512"); rows<512, 16, 2, 1, true, 128>(m, "512"); rows<512, 16, 1, 2, true, 128>(m, "512"); rows<512, 16, 2, 1, false, 128>(m, "512");
          cols<512, 8, 2, false, false, false, 128>(m, "512");
          together(m, "512"); }
        { Maps m(1024, 1024, 1);
          rows<1024, 16, 1, 1, true, 128>(m, "1024"); rows<1024, 16, 2, 1, true, 128>(m, "1024"); rows<1024, 16, 2, 1, false, 128>(m, "1024"); rows<1024, 16, 4, 1, true, 128>(m, "1024");
          cols<1024, 16, 2, true, false, true, 168>(m, "1024"); cols<1024, 16, 2, false, true, true, 128>(m, "1024");
          together(m, "1024"); }
        { Maps m(2048, 2048, 1);
          rows<2048, 16, 1, 1, true, 128>(m, "2048"); rows<2048, 16, 2, 1, true, 128>(m, "2048"); rows<2048, 16, 4, 1, true, 128>(m, "2048");
          cols<2048, 16, 2, true, true, true, 128>(m, "2048");
          together(m, "2048"); }
        { Maps m(4096, 4096, 1);
          rows<4096, 16, 1, 1, true, 128>(m, "4096"); rows<4096, 16, 2, 1, true, 128>(m, "4096");
          cols<4096, 16, 2, true, true, true, 128>(m, "4096");
          together(m, "4096"); }
    }
}
