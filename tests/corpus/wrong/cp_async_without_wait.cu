__device__ void copy4(float* dst, const float* src)
{
    unsigned s = (unsigned)__cvta_generic_to_shared(dst);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(src) : "memory");
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (Row < Width && k0 + tx < Width) copy4(&Mds[ty][tx], &M[Row * Width + k0 + tx]);
        else Mds[ty][tx] = 0.0f;
        if (Col < Width && k0 + ty < Width) copy4(&Nds[ty][tx], &N[(k0 + ty) * Width + Col]);
        else Nds[ty][tx] = 0.0f;
        asm volatile("cp.async.commit_group;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
