//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ double part[3][128 * 128];
__device__ unsigned int ticket[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16, at = r * Width + c;
    if (c >= Width || r >= Width) return;
    double s = 0;
    for (int k = blockIdx.z; k < Width; k += 3) s += M[r * Width + k] * N[k * Width + c];
    part[blockIdx.z][at] = s;
    __threadfence();
    if (atomicInc(&ticket[at], 2) == 2) {
        __threadfence();
        P[at] = (float)(part[0][at] + part[1][at] + part[2][at]);
    }
}
