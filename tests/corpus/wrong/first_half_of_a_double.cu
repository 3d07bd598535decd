__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ double staged[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 16 + tx, r = blockIdx.y * 16 + ty;
    double sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 16) {
        ((float*)&staged[ty][tx])[1] = r < Width && k0 + tx < Width ? M[r * Width + k0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16 && k0 + k < Width; ++k)
            if (c < Width) sum += staged[ty][k] * N[(k0 + k) * Width + c];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = (float)sum;
}
