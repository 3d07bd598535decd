__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int place[256];
    unsigned short* half = (unsigned short*)place;
    int t = threadIdx.y * 16 + threadIdx.x;
    half[2 * t] = blockIdx.x * 16 + threadIdx.x;
    half[2 * (255 - t) + 1] = blockIdx.y * 16 + (255 - t) / 16;
    __syncthreads();
    int c = place[t] & 0xffff, r = place[t] >> 16;
    if (r >= Width || c >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[r * Width + k] * N[k * Width + c];
    P[r * Width + c] = sum;
}
