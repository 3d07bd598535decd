//!tilelab block=(64,1) grid=(ceil(Width/64), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ double staged[32];
    int t = threadIdx.x, col = blockIdx.x * 64 + t, row = blockIdx.y;
    double sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        if (t >= 32) staged[t - 32] = k0 + t - 32 < Width ? M[row * Width + k0 + t - 32] : 0.0;
        __syncthreads();
        for (int k = 0; k < 32 && k0 + k < Width; ++k)
            if (col < Width) sum += staged[k] * N[(k0 + k) * Width + col];
        __syncwarp();
    }
    if (col < Width) P[row * Width + col] = (float)sum;
}
