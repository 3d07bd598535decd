__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float n[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    unsigned int mine = __match_any_sync(0xffffffff, ty);
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 2) {
        int k = k0 + ty % 2;
        n[ty][tx] = k < Width && c < Width ? N[k * Width + c] : 0.0f;
        __syncwarp(mine);
        if (r < Width) sum += M[r * Width + k0] * n[ty & ~1][tx];
        if (r < Width && k0 + 1 < Width) sum += M[r * Width + k0 + 1] * n[ty | 1][tx];
        __syncwarp();
    }
    if (r < Width && c < Width) P[r * Width + c] = sum;
}
