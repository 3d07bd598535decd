//!tilelab block=(4,16) grid=(ceil(Width/16), ceil(Width/16)) tile=16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty;
    float s[4] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < Width; k0 += 16) {
        float4 q = make_float4(0, 0, 0, 0);
        if (row < Width && k0 + 4 * tx + 3 < Width) q = *(float4*)&M[row * Width + k0 + 4 * tx];
        a[ty][4 * tx] = q.x; a[ty][4 * tx + 1] = q.y; a[ty][4 * tx + 2] = q.z; a[ty][4 * tx + 3] = q.w;
        __syncthreads();
        for (int k = 0; k < 16 && k0 + k < Width; ++k)
            for (int j = 0; j < 4; ++j) {
                int c = blockIdx.x * 16 + 4 * tx + j;
                if (c < Width) s[j] += a[ty][k] * N[(k0 + k) * Width + c];
            }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) {
        int c = blockIdx.x * 16 + 4 * tx + j;
        if (row < Width && c < Width) P[row * Width + c] = s[j];
    }
}
