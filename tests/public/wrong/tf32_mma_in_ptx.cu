//!tilelab block=(32) grid=(Width/8, Width/16) tile=16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3, row = blockIdx.y * 16, col = blockIdx.x * 8;
    float c[4] = {0, 0, 0, 0};
    for (int k = 0; k < Width; k += 4) {
        unsigned a0 = __float_as_uint(M[(row + g) * Width + k + t]);
        unsigned a1 = __float_as_uint(M[(row + g + 8) * Width + k + t]);
        unsigned b0 = __float_as_uint(N[(k + t) * Width + col + g]);
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a0), "r"(a1), "r"(b0));
    }
    P[(row + g) * Width + col + 2 * t] = c[0];
    P[(row + g) * Width + col + 2 * t + 1] = c[1];
    P[(row + g + 8) * Width + col + 2 * t] = c[2];
    P[(row + g + 8) * Width + col + 2 * t + 1] = c[3];
}
